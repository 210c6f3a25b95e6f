#pragma once

#include <array>
#include <cstddef>
#include <limits>

/// The inner loop of statistics: plain loops over numbers that are known to be finite, which compilers make vectors of.
namespace megascope::kernels {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kBlock = 128;  ///< elements, a multiple of kLanes

/// Partial results; a lane takes every eighth element. Of a lane that has taken none min and max are the greatest and the least
/// finite number, for which the loop is right too.
struct FiniteLanes {
  std::array<double, kLanes> min, max, sum{}, sum_of_squares{};

  FiniteLanes() {
    min.fill(std::numeric_limits<double>::max());
    max.fill(std::numeric_limits<double>::lowest());
  }
};

/// values: all finite.
void add_finite(const std::array<double, kBlock>& values, FiniteLanes& lanes) noexcept;

}  // namespace megascope::kernels
