#pragma once

#include "analysis/cpu/accounts.h"
#include "analysis/detect/detect.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Adds, corrects and removes root causes according to each rank's account of the whole run. Works
/// without steps, too. In this order:
///
/// - Slow links between ranks that wait for a core in MPI are removed, unless a rank is blocked
/// there. detection.limitations reports how many. With fewer than two accounts nothing else is
/// done.
/// - Root causes of single ranks whose time was spent blocked become kBlocked. A kHostStall of a
/// rank that was not blocked becomes kSlowCompute.
/// - A rank that is blocked longer than the others becomes kBlocked, outside of MPI or, if no link
/// explains it, inside.
/// - Ranks whose cores were used by something else become kPreempted and replace other root causes
/// of these ranks.
/// - If ranks wait for cores for at least 10 % of their time, root causes kSlowCompute and
/// kInputImbalance of single ranks are removed unless the whole run shows their cost.
/// detection.limitations reports how many.
/// - If no root cause is left, a rank that computes longer than all others is kSlowCompute.
///
/// accounts: result of accounts_of() for cpu_times() with detection.steps. Steps of root causes
/// count from 0. Call before the root causes are replayed.
void judge_whole_run(const std::vector<Account>& accounts, detect::Detection& detection);

}  // namespace megascope::cpu
