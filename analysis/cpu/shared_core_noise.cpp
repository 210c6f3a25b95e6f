#include "analysis/cpu/shared_core_noise.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace megascope::cpu {
namespace {

using detect::Cause;
using detect::RootCause;

constexpr double kMinSpanNs = 1e9;  ///< 100 readings; the scheduler has balanced its cores by then
constexpr double kMinStepShare = 0.5;
constexpr double kMeasured = 0.5;      ///< RankCpu::measured_share
constexpr double kInterpolated = 0.5;  ///< RankCpu::interpolated_share

bool are_estimates(const RankCpu& rank) {
  return !rank.has_wait || rank.measured_share < kMeasured ||
         rank.interpolated_share > kInterpolated;
}

/// The time of the root cause's active steps: the mean of those from its first to its last.
double active_ns(const RankCpu& rank, const RootCause& root_cause) {
  const auto first = static_cast<std::size_t>(std::max(root_cause.onset_step, 0));
  const std::size_t end = std::min(rank.steps.size(),
                                   static_cast<std::size_t>(std::max(root_cause.last_step, 0)) + 1);
  if (first >= end) return 0.0;
  double wall_ns = 0.0;
  for (std::size_t step = first; step < end; ++step)
    wall_ns += rank.steps[step].outside.wall_ns + rank.steps[step].inside.wall_ns;
  return wall_ns * root_cause.active_steps / static_cast<double>(end - first);
}

bool share_cores(std::span<const SharedCores> shared, const std::vector<std::int32_t>& ranks) {
  return std::ranges::any_of(shared, [&](const SharedCores& set) {
    return std::ranges::all_of(
        ranks, [&](std::int32_t rank) { return std::ranges::binary_search(set.ranks, rank); });
  });
}

bool may_be_scheduling(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
                       const RootCause& root_cause) {
  if ((root_cause.cause != Cause::kSlowCompute && root_cause.cause != Cause::kHostStall &&
       root_cause.cause != Cause::kInputImbalance) ||
      !share_cores(shared, root_cause.ranks))
    return false;
  return std::ranges::any_of(root_cause.ranks, [&](std::int32_t world_rank) {
    const auto rank = std::ranges::find(times, world_rank, &RankCpu::world_rank);
    return rank != times.end() && rank->has_readings() && are_estimates(*rank) &&
           root_cause.active_steps < kMinStepShare * static_cast<double>(rank->steps.size()) &&
           active_ns(*rank, root_cause) < kMinSpanNs;
  });
}

}  // namespace

void dismiss_scheduling_noise(const std::vector<RankCpu>& times,
                              std::span<const SharedCores> shared, detect::Detection& detection) {
  const std::size_t count = std::erase_if(detection.root_causes, [&](const RootCause& root_cause) {
    return may_be_scheduling(times, shared, root_cause);
  });
  if (count == 0) return;
  detection.limitations.push_back(
      (count == 1 ? std::string("One difference") : std::to_string(count) + " differences") +
      " between ranks that share cores not judged: in few steps, for less than a second, the "
      "kernel's scheduling may have caused it.");
}

}  // namespace megascope::cpu
