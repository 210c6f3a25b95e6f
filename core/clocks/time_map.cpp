#include "core/clocks/time_map.h"

#include <algorithm>

namespace megascope {

TimeMap TimeMap::through(const std::vector<Knot>& knots, double ns_per_tick) {
  TimeMap map(knots.front().ticks, ns_per_tick, knots.front().time_ns);
  if (knots.size() == 1) return map;
  std::vector<Line> lines;
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    const auto ticks = static_cast<double>(knots[i + 1].ticks - knots[i].ticks);
    const auto elapsed_ns = static_cast<double>(knots[i + 1].time_ns - knots[i].time_ns);
    lines.push_back({knots[i].ticks, scale_of(elapsed_ns / ticks), knots[i].time_ns});
  }
  lines.push_back({knots.back().ticks, scale_of(ns_per_tick), knots.back().time_ns});
  map.first_end_ticks_ = knots.front().ticks;
  map.further_ = std::make_shared<const std::vector<Line>>(std::move(lines));
  return map;
}

TimeMap TimeMap::counted_from(std::int64_t start_ns) const {
  TimeMap map = *this;
  map.first_.offset_ns -= start_ns;
  if (further_ == nullptr) return map;
  std::vector<Line> lines = *further_;
  for (Line& line : lines) line.offset_ns -= start_ns;
  map.further_ = std::make_shared<const std::vector<Line>>(std::move(lines));
  return map;
}

const TimeMap::Line& TimeMap::line_of(std::uint64_t ticks) const {
  if (further_ == nullptr) return first_;
  const auto after = std::upper_bound(
      further_->begin(), further_->end(), ticks,
      [](std::uint64_t value, const Line& line) { return value < line.base_ticks; });
  return *(after - 1);
}

}  // namespace megascope
