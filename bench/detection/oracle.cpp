#include "bench/detection/oracle.h"

#include "analysis/detect/reduction.h"
#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>

namespace megascope::bench {
namespace {

/// Messages between the two ends, in active steps, whose transfer times are known.
double known_messages(const OracleHint& hint, const RecordSource& run) {
  const detect::Reduced reduced = detect::reduce(run, {});
  double count = 0.0;
  for (const detect::Link& link : reduced.links) {
    std::vector<std::int32_t> ends{reduced.ranks[link.from].world_rank,
                                   reduced.ranks[link.to].world_rank};
    std::sort(ends.begin(), ends.end());
    if (ends != hint.ranks) continue;
    for (std::size_t step = 0; step < link.steps.size() && step < hint.is_active.size(); ++step) {
      if (hint.is_active[step]) count += link.steps[step].alone + link.steps[step].others;
    }
  }
  return count;
}

}  // namespace

double oracle_chance(const OracleHint& hint, const RecordSource& run) {
  const double noise = hint.is_link ? hint.message_noise : hint.step_noise;
  const auto active = static_cast<double>(
      std::count(hint.is_active.begin(), hint.is_active.end(), true));
  const double values = hint.is_link ? known_messages(hint, run)
                                     : active * static_cast<double>(hint.ranks.size());
  const double z = hint.height / noise * std::sqrt(values);
  const double needed = std::sqrt(2.0 * detect::score_threshold({}));
  return 0.5 * std::erfc((needed - z) / std::sqrt(2.0));
}

}  // namespace megascope::bench
