#pragma once

#include "analysis/cpu/cpu_times.h"
#include "analysis/detect/detect.h"
#include "core/record/shared_cores.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Renames root causes: one whose excess time outside of MPI is explained by waiting for a core, by
/// half of it or more, is kPreempted, as far as its ranks have readings with this wait. Those of
/// one set of ranks that share cores become one root cause. Where its CPU time is longer than its
/// peers', or it neither computes nor waits for a core (it sleeps, or waits for a disk), a root
/// cause stays what it is. Of ranks that share cores waiting inside of MPI counts as well: that
/// such a rank computes longer has to be seen. Links are not looked at. times: of cpu_times() with
/// detection.steps. Steps of root causes count from 0.
void name_preempted(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
                    detect::Detection& detection);

}  // namespace megascope::cpu
