#pragma once

#include "analysis/cpu/accounts.h"
#include "analysis/detect/detect.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Adds, corrects and removes root causes according to the Account of each rank: how its time in
/// the whole run divides into computing, waiting for a core and being blocked. The run needs no
/// steps. In this order:
///
/// - Removes slow links of ranks that wait for a core inside MPI calls, except the slowest link of
/// a
///   rank that is blocked inside MPI calls. detection.limitations reports how many. With fewer than
///   two accounts nothing else is done.
/// - Root causes of single ranks whose lost time was spent blocked become kBlocked. A kHostStall of
///   a rank that was not blocked becomes kSlowCompute.
/// - Adds kBlocked for a rank that is blocked outside of MPI calls for longer than the others; and
///   for one that is blocked inside MPI calls for longer, if no slow link explains it.
/// - Adds kPreempted for ranks whose cores were used by something else; it replaces other root
///   causes of these ranks.
/// - If ranks wait for cores for at least 10 % of their time, removes root causes kSlowCompute and
///   kInputImbalance of single ranks whose cost the accounts do not confirm. detection.limitations
///   reports how many.
/// - If no root cause is left, adds kSlowCompute for a rank that computes longer than all others.
///
/// accounts: result of accounts_of() for cpu_times() with detection.steps. Steps of root causes
/// count from 0. Call before the root causes are replayed.
void judge_whole_run(const std::vector<Account>& accounts, detect::Detection& detection);

}  // namespace megascope::cpu
