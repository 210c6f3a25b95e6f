#pragma once

#include "analysis/cpu/cpu_times.h"
#include "analysis/detect/detect.h"
#include "core/record/shared_cores.h"

#include <span>
#include <vector>

namespace megascope::cpu {

/// Removes root causes that the kernel's scheduling of ranks on shared cores may have produced. The
/// scheduler gives each rank its share of a core over many time slices; within a few time slices,
/// one rank may get much more CPU time than another. A root cause (kSlowCompute, kHostStall,
/// kInputImbalance) is removed if all of this holds:
/// - Its ranks share cores with other ranks (one of `shared`), and wait for a core for at least 5 %
///   of their time, or for an unknown time.
/// - It is active in less than half of the steps, and for less than one second.
/// - The CPU times of these steps are mostly estimates: readings were not taken at their boundaries
///   (RankCpu::interpolated_share), or do not separate MPI from the time outside
///   (RankCpu::measured_share).
///
/// detection.limitations reports how many were removed. times: result of cpu_times() with
/// detection.steps. Call after name_preempted().
void dismiss_scheduling_noise(const std::vector<RankCpu>& times,
                              std::span<const SharedCores> shared, detect::Detection& detection);

}  // namespace megascope::cpu
