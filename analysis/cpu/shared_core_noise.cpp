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
constexpr double kWaits = 0.05;  ///< share of a rank's time that it waits for a core, at least

bool are_estimates(const RankCpu& rank) {
  return !rank.has_wait || !rank.is_measured() || rank.is_interpolated();
}

double active_ns(const RankCpu& rank, const RootCause& root_cause) {
  double wall_ns = 0.0;
  for (const std::int64_t step : root_cause.steps) {
    const auto index = static_cast<std::size_t>(step);
    if (index >= rank.steps.size()) continue;
    wall_ns += rank.steps[index].outside.wall_ns + rank.steps[index].inside.wall_ns;
  }
  return wall_ns;
}

/// Unknown counts as waiting.
bool waits_for_cores(const RankCpu& rank) {
  const CpuSums all = rank.all();
  return !rank.has_wait || all.wait_ns >= kWaits * all.wall_ns;
}

/// Do these ranks share cores with others?
bool share_cores(std::span<const SharedCores> shared, const std::vector<std::int32_t>& ranks) {
  return std::ranges::any_of(shared, [&](const SharedCores& set) {
    const bool are_in = std::ranges::all_of(
        ranks, [&](std::int32_t rank) { return std::ranges::binary_search(set.ranks, rank); });
    return are_in && ranks.size() < set.ranks.size();
  });
}

bool may_be_scheduling(const std::vector<RankCpu>& times, std::span<const SharedCores> shared,
                       const RootCause& root_cause) {
  if (!analysis::is_of_compared_work(root_cause.cause) || !share_cores(shared, root_cause.ranks))
    return false;
  return std::ranges::any_of(root_cause.ranks, [&](std::int32_t world_rank) {
    const auto rank = std::ranges::find(times, world_rank, &RankCpu::world_rank);
    return rank != times.end() && rank->has_readings() && are_estimates(*rank) &&
           waits_for_cores(*rank) &&
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
