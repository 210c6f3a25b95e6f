#pragma once

#include "core/record/definitions.h"

#include <algorithm>
#include <cstdint>

namespace megascope::trace {

/// Bounds clock values, so that computations with damaged ones do not overflow; 2^61 ns are 73
/// years.
inline ClockPoint bounded(ClockPoint point) {
  constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;
  point.monotonic_ns = std::clamp(point.monotonic_ns, std::int64_t{0}, kMaxNs);
  point.realtime_ns = std::clamp(point.realtime_ns, std::int64_t{0}, kMaxNs);
  return point;
}

}  // namespace megascope::trace
