#pragma once

#include "analysis/cpu/cpu_times.h"
#include "analysis/detect/detect.h"
#include "core/record/shared_cores.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Changes the cause of a root cause to kPreempted if waiting for a core explains at least half of
/// its excess time outside of MPI. For ranks that share cores, waiting inside of MPI counts as
/// well. Preempted root causes of the same set of ranks that share cores are merged. Sets
/// core_wait_ns and core_wait_reason.
///
/// Unchanged are:
/// - links;
/// - root causes with a rank that is not judged or has no readings with the wait for a core;
/// - root causes whose ranks use more CPU time than their peers;
/// - root causes whose ranks are blocked (asleep, or waiting for a disk) for half of the excess.
///
/// times: result of cpu_times() with detection.steps. Steps of root causes count from 0.
void name_preempted(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
                    detect::Detection& detection);

}  // namespace megascope::cpu
