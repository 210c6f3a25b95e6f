#pragma once

#include "analysis/cpu/accounts.h"
#include "analysis/detect/detect.h"

#include <vector>

namespace megascope::cpu {

/// Removes root causes of single ranks that only slept a little longer than others which sleep as
/// well. A thread that sleeps wakes up later than it asked for, by an amount that depends on its
/// core and on what else runs there. A root cause (kSlowCompute, kHostStall, kInputImbalance) is
/// removed if all of this holds:
/// - The rank and the median of the others are blocked for half of their time outside of MPI.
/// - The rank's factor is below 1.1.
/// - CPU times do not show that the rank works longer: its CPU time outside of MPI exceeds the
///   median of the others by less than the larger of half of the root cause's cost and 2 % of the
///   run, or its division between outside and inside is mostly an estimate
///   (RankCpu::measured_share).
///
/// detection.limitations reports how many were removed. accounts: of all ranks with readings; with
/// fewer than two nothing is done. Call before judge_whole_run(), which takes the rest for blocked
/// ranks.
void dismiss_sleepers(const std::vector<Account>& accounts, detect::Detection& detection);

}  // namespace megascope::cpu
