#pragma once

#include <cstddef>
#include <limits>

/// The inner loops of statistics: plain loops which compilers make vectors of, one set for each
/// kind of processor. The files of the loops are compiled for processors that others are not, so
/// nothing that the linker might share is in them: no templates, no inline functions.
namespace megascope::kernels {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kBlock = 128;  ///< elements, a multiple of kLanes

/// Partial results; a lane takes every eighth element. Of a lane that has taken none min and max
/// are the greatest and the least finite number, for which the loops are right too.
struct FiniteLanes {
  double min[kLanes], max[kLanes], sum[kLanes], sum_of_squares[kLanes];

  FiniteLanes() {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      min[lane] = std::numeric_limits<double>::max();
      max[lane] = std::numeric_limits<double>::lowest();
      sum[lane] = sum_of_squares[lane] = 0.0;
    }
  }
};

/// Each adds kBlock elements, if all are finite; else it does nothing and returns false. Any
/// alignment.
struct LaneLoops {
  bool (*add_floats)(const float* elements, FiniteLanes& lanes) noexcept;
  bool (*add_doubles)(const double* elements, FiniteLanes& lanes) noexcept;
};

/// The fastest that this processor has.
const LaneLoops& lane_loops() noexcept;

/// For any processor that the library is built for, and for those with AVX2 and FMA; nullptr: not
/// of this kind of machine.
extern const LaneLoops kPlainLoops;
const LaneLoops* loops_of_avx2() noexcept;

}  // namespace megascope::kernels
