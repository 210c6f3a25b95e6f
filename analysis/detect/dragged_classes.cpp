#include "analysis/detect/dragged_classes.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace megascope::detect {
namespace {

bool is_active(const Finding& finding, std::size_t step) {
  return step < finding.is_active.size() && finding.is_active[step];
}

/// By how much a group is slow in a step.
struct Slowness {
  double work = 0.0;   ///< log factor of the slowest member's work
  double pause = 0.0;  ///< log factor of the longest pause of a member
};

Slowness slowness_of(const SharedSeries& shared, const std::vector<SlowUnit>& found,
                     const std::vector<Finding>& stalls, std::size_t step) {
  Slowness slowness;
  for (const SlowUnit& unit : found) {
    const bool is_hit = unit.kind != Together::kClass && is_active(unit.finding, step) &&
                        std::any_of(unit.ranks.begin(), unit.ranks.end(), [&](std::size_t rank) {
                          return std::binary_search(shared.members.begin(), shared.members.end(),
                                                    rank);
                        });
    if (is_hit) slowness.work = std::max(slowness.work, unit.finding.excess);
  }
  for (const std::size_t member : shared.members) {
    if (member < stalls.size() && is_active(stalls[member], step))
      slowness.pause = std::max(slowness.pause, stalls[member].excess);
  }
  return slowness;
}

/// The groups of a class that synchronise in one operation.
using Groups = std::vector<const SharedSeries*>;

/// Returns the log factor of the class in a step, from the groups of one operation.
double dragged_in_step(const Groups& groups, const std::vector<SlowUnit>& found,
                       const std::vector<Finding>& stalls, std::size_t step) {
  std::vector<double> works;
  std::vector<double> pauses;
  double share = 0.0;
  for (const SharedSeries* group : groups) {
    const Slowness slowness = slowness_of(*group, found, stalls, step);
    works.push_back(slowness.work);
    pauses.push_back(slowness.pause);
    share += group->share / static_cast<double>(groups.size());
  }
  const double work = -std::log(1.0 - std::min(share, 1.0) * -std::expm1(-quantile(works, kUsual)));
  return std::max(work, quantile(pauses, kUsual));
}

}  // namespace

double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found,
               const std::vector<Finding>& stalls, std::size_t class_index,
               const Finding& finding) {
  std::map<std::string, Groups> operations;
  for (const SharedSeries& shared : work.shared) {
    if (shared.class_index == class_index) operations[shared.operation].push_back(&shared);
  }
  double sum = 0.0;
  for (std::size_t step = 0; step < finding.is_active.size(); ++step) {
    if (!finding.is_active[step]) continue;
    for (const auto& [operation, groups] : operations)
      sum += dragged_in_step(groups, found, stalls, step);
  }
  return sum / static_cast<double>(std::max<std::size_t>(finding.active_steps, 1));
}

}  // namespace megascope::detect
