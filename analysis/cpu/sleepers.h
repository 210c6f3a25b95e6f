#pragma once

#include "analysis/cpu/accounts.h"
#include "analysis/detect/detect.h"

#include <vector>

namespace megascope::cpu {

/// Removes root causes of single ranks that slept only a little longer than the other ranks, which
/// sleep as well. A thread that sleeps wakes up later than it asked for, by an amount that depends
/// on its core and on what else runs there. A root cause (kSlowCompute, kHostStall,
/// kInputImbalance) is removed if all of this holds:
/// - The rank and the median of the others are blocked for half of their time outside of MPI.
/// - The rank's factor is below 1.1.
/// - CPU times do not show that the rank works longer. This is so if less than half of the division
///   of its CPU time between outside and inside of MPI is measured (RankCpu::measured_share). It is
///   also so if its CPU time outside of MPI exceeds the median of the others by less than a limit:
///   half of the root cause's cost or 2 % of the run, whichever is larger.
///
/// detection.limitations reports how many were removed. accounts: of all ranks with readings; with
/// fewer than two nothing is done. Call before judge_whole_run(), which changes the remaining root
/// causes of sleeping ranks to kBlocked.
void dismiss_sleepers(const std::vector<Account>& accounts, detect::Detection& detection);

}  // namespace megascope::cpu
