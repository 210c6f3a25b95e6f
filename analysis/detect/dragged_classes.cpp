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

/// Findings of ranks in a group that synchronises.
using Slow = std::vector<const Finding*>;

/// The groups of a class that synchronise in one operation.
struct Operation {
  std::vector<Slow> groups;
  double share = 0.0;  ///< sum of SharedSeries::share
};

bool is_hit(const SharedSeries& shared, const SlowUnit& unit) {
  return unit.kind != Together::kClass &&
         std::any_of(unit.ranks.begin(), unit.ranks.end(), [&](std::size_t rank) {
           return std::binary_search(shared.members.begin(), shared.members.end(), rank);
         });
}

/// Returns the log factor by which most groups are slow in a step.
double slowness_in(const Operation& operation, std::size_t step) {
  std::vector<double> excess;
  for (const Slow& group : operation.groups) {
    excess.push_back(0.0);
    for (const Finding* finding : group) {
      if (is_active(*finding, step)) excess.back() = std::max(excess.back(), finding->excess);
    }
  }
  return quantile(excess, kUsual);
}

}  // namespace

double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found, std::size_t class_index,
               const Finding& finding) {
  if (found.empty()) return 0.0;
  std::map<std::string, Operation> operations;
  for (const SharedSeries& shared : work.shared) {
    if (shared.class_index != class_index) continue;
    Operation& operation = operations[shared.operation];
    operation.share += shared.share;
    Slow& slow = operation.groups.emplace_back();
    for (const SlowUnit& unit : found) {
      if (is_hit(shared, unit)) slow.push_back(&unit.finding);
    }
  }
  double sum = 0.0;
  for (std::size_t step = 0; step < finding.is_active.size(); ++step) {
    if (!finding.is_active[step]) continue;
    double saved = 0.0;
    for (const auto& [name, operation] : operations) {
      const double share = operation.share / static_cast<double>(operation.groups.size());
      saved += share * -std::expm1(-slowness_in(operation, step));
    }
    sum -= std::log1p(-std::min(saved, kMaxSaved));
  }
  return sum / static_cast<double>(std::max<std::size_t>(finding.active_steps, 1));
}

}  // namespace megascope::detect
