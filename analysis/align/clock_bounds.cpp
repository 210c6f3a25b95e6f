#include "analysis/align/clock_bounds.h"

#include <algorithm>
#include <cmath>

namespace megascope::analysis {
namespace {

/// Clocks differ by no more than this in their rate.
constexpr double kMostRate = 1e-3;

}  // namespace

void ClockBounds::merge(const ClockBounds& other) {
  for (std::size_t i = 0; i < kParts; ++i) {
    const Part& part = other.parts_[i];
    if (part.least.is_set) add_least(static_cast<std::uint64_t>(part.least.time_ns), part.least.shift_ns);
    if (part.most.is_set) add_most(static_cast<std::uint64_t>(part.most.time_ns), part.most.shift_ns);
  }
}

double ClockBounds::contradiction_ns(const ClockLine& line, double part) const {
  const auto shift = [&](double time_ns) {
    return part * (line.at_begin_ns + (line.at_end_ns - line.at_begin_ns) * (time_ns / length_ns_));
  };
  double worst_ns = 0.0;
  for (const Part& bounds : parts_) {
    if (bounds.least.is_set) worst_ns = std::max(worst_ns, bounds.least.shift_ns - shift(bounds.least.time_ns));
    if (bounds.most.is_set) worst_ns = std::max(worst_ns, shift(bounds.most.time_ns) - bounds.most.shift_ns);
  }
  return worst_ns;
}

/// Lines that obey are a convex set: on the way to its middle it is entered once.
ClockLine ClockBounds::nearest() const {
  ClockLine line = middle();
  if (!line.is_bounded) return line;
  double low = 0.0;
  double high = contradiction_ns(line, 0.0) > 0.0 ? 1.0 : 0.0;
  for (int i = 0; i < 60 && high > 0.0; ++i) {
    const double part = (low + high) / 2;
    (contradiction_ns(line, part) > 0.0 ? low : high) = part;
  }
  line.error_ns += (1.0 - high) * std::max(std::fabs(line.at_begin_ns), std::fabs(line.at_end_ns));
  line.at_begin_ns *= high;
  line.at_end_ns *= high;
  return line;
}

/// Where lines of this rate may begin.
ClockBounds::Room ClockBounds::room_at(double rate) const {
  Room room;
  for (const Part& part : parts_) {
    if (part.least.is_set) room.least_ns = std::max(room.least_ns, part.least.shift_ns - rate * part.least.time_ns);
    if (part.most.is_set) room.most_ns = std::min(room.most_ns, part.most.shift_ns - rate * part.most.time_ns);
  }
  return room;
}

/// The room is a concave function of the rate.
ClockLine ClockBounds::middle() const {
  const auto width = [this](double rate) {
    const Room room = room_at(rate);
    return room.most_ns - room.least_ns;
  };
  ClockLine line;
  line.is_bounded = std::isfinite(width(0.0));
  if (!line.is_bounded) return line;
  double low = -kMostRate;
  double high = kMostRate;
  for (int i = 0; i < 100; ++i) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (width(a) < width(b)) low = a;
    else high = b;
  }
  const double rate = (low + high) / 2;
  const Room room = room_at(rate);
  line.at_begin_ns = (room.least_ns + room.most_ns) / 2;
  line.at_end_ns = line.at_begin_ns + rate * length_ns_;
  line.error_ns = std::fabs(room.most_ns - room.least_ns) / 2;
  return line;
}

}  // namespace megascope::analysis
