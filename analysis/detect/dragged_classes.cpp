#include "analysis/detect/dragged_classes.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

namespace megascope::detect {
namespace {

constexpr double kMaxSaved = 0.99;  ///< fraction of the work

bool is_active(const Finding& finding, std::size_t step) {
  return step < finding.is_active.size() && finding.is_active[step];
}

/// A group of ranks that synchronise, and what was found in it.
struct Group {
  double share = 0.0;  ///< SharedSeries::share
  std::vector<const Finding*> slow;
};
using Groups = std::vector<Group>;  ///< those of a class that synchronise in one operation

bool is_hit(const SharedSeries& shared, const SlowUnit& unit) {
  return unit.kind != Together::kClass &&
         std::any_of(unit.ranks.begin(), unit.ranks.end(), [&](std::size_t rank) {
           return std::binary_search(shared.members.begin(), shared.members.end(), rank);
         });
}

double slowness_in(const Group& group, std::size_t step) {
  double excess = 0.0;
  for (const Finding* finding : group.slow) {
    if (is_active(*finding, step)) excess = std::max(excess, finding->excess);
  }
  return excess;
}

/// Returns the excess of most groups.
template <class Function>
double of_most(const Groups& groups, Function&& excess_of) {
  std::vector<double> values;
  for (const Group& group : groups) values.push_back(excess_of(group));
  return quantile(values, kUsual);
}

double share_of(const Groups& groups) {
  double share = 0.0;
  for (const Group& group : groups) share += group.share / static_cast<double>(groups.size());
  return share;
}

}  // namespace

double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found, std::size_t class_index,
               const Finding& finding) {
  std::map<std::string, Groups> operations;
  for (const SharedSeries& shared : work.shared) {
    if (shared.class_index != class_index) continue;
    Group& group = operations[shared.operation].emplace_back();
    group.share = shared.share;
    for (const SlowUnit& unit : found) {
      if (is_hit(shared, unit)) group.slow.push_back(&unit.finding);
    }
  }
  double sum = 0.0;
  for (std::size_t step = 0; step < finding.is_active.size(); ++step) {
    if (!finding.is_active[step]) continue;
    double saved = 0.0;
    for (const auto& [operation, groups] : operations) {
      const auto in_step = [step](const Group& group) { return slowness_in(group, step); };
      saved += share_of(groups) * -std::expm1(-of_most(groups, in_step));
    }
    sum -= std::log1p(-std::min(saved, kMaxSaved));
  }
  return sum / static_cast<double>(std::max<std::size_t>(finding.active_steps, 1));
}

}  // namespace megascope::detect
