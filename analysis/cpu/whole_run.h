#pragma once

#include "analysis/cpu/accounts.h"
#include "analysis/detect/detect.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Adds and corrects root causes by what the kernel charged to each rank in the whole run; where no
/// steps were found, too.
///
/// - A rank that is blocked outside of MPI longer than the others is kBlocked. A root cause that
/// its steps show becomes that.
/// - Ranks whose cores something else had are kPreempted; root causes among these ranks, and waits
/// of ranks for their fellows, are that.
/// - Links are not judged between ranks that wait for a core in MPI, unless one of them is blocked
/// there: they are removed, and
///   detection.limitations says so.
/// - Where nothing was found, a rank that computes longer than the others in all is kSlowCompute.
/// - Where ranks wait for cores, their work varies: what a root cause is said to cost has to be
/// there in the whole run as well, else it goes, and
///   detection.limitations says so. Pauses of a thread that was not blocked are none.
///
/// accounts: of cpu_times() with detection.steps. Steps of root causes count from 0. Before root
/// causes are replayed: costs are at most those told.
void judge_whole_run(const std::vector<Account>& accounts, detect::Detection& detection);

}  // namespace megascope::cpu
