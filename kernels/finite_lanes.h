#pragma once

#include <cstddef>
#include <limits>

/// Inner loops of the statistics, as plain loops that compilers vectorise; one set for each kind of
/// processor. The files with the loops are compiled for specific processors. They must not contain
/// anything that the linker may share with other files: no templates, no inline functions.
namespace megascope::kernels {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kBlock = 128;  ///< elements of a block; a multiple of kLanes

/// Partial results. Each lane takes every eighth element. In a lane without elements, min and max
/// are the largest and the smallest finite number, for which the loops are correct as well.
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

/// Add kBlock elements if all are finite; otherwise do nothing and return false. Any alignment.
struct LaneLoops {
  bool (*add_floats)(const float* elements, FiniteLanes& lanes) noexcept;
  bool (*add_doubles)(const double* elements, FiniteLanes& lanes) noexcept;
};

/// Returns the fastest set for this processor.
const LaneLoops& lane_loops() noexcept;

/// The sets for any supported processor, and for AVX2 with FMA; nullptr on other architectures.
extern const LaneLoops kPlainLoops;
const LaneLoops* loops_of_avx2() noexcept;

}  // namespace megascope::kernels
