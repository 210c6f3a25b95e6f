#include "kernels/finite_lanes.h"

#include <algorithm>

namespace megascope::kernels {

void add_finite(const std::array<double, kBlock>& values, FiniteLanes& lanes) noexcept {
  FiniteLanes all = lanes;
  for (std::size_t i = 0; i < kBlock; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double value = values[i + lane];
      all.min[lane] = std::min(all.min[lane], value);
      all.max[lane] = std::max(all.max[lane], value);
      all.sum[lane] += value;
      all.sum_of_squares[lane] += value * value;
    }
  }
  lanes = all;
}

}  // namespace megascope::kernels
