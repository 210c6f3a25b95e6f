#pragma once

#include <cstddef>
#include <limits>

/// Inner loops of the statistics, as plain loops that compilers vectorise; one set for each kind of
/// processor. The files with the loops are compiled for specific processors. They must not contain
/// anything that the linker may share with other files: no templates, no inline functions.
namespace megascope::kernels {

inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t kBlock = 128;  ///< elements of a block; a multiple of kLanes

/// Partial results in kLanes lanes. Lane i contains the elements i, i + kLanes, i + 2 * kLanes and
/// so on. In a lane without elements, min is the largest and max the smallest finite number.
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

/// A set of loops. If kBlock elements are all finite, a loop adds them to `lanes` and returns true.
/// Otherwise it returns false and `lanes` is unchanged. elements: any alignment.
struct LaneLoops {
  bool (*add_floats)(const float* elements, FiniteLanes& lanes) noexcept;
  bool (*add_doubles)(const double* elements, FiniteLanes& lanes) noexcept;
};

/// Returns the fastest set of loops for this processor.
const LaneLoops& lane_loops() noexcept;

/// kPlainLoops runs on any supported processor. loops_of_avx2() returns the set for processors with
/// AVX2 and FMA; nullptr if the library is built for another architecture.
extern const LaneLoops kPlainLoops;
const LaneLoops* loops_of_avx2() noexcept;

}  // namespace megascope::kernels
