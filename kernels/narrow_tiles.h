#pragma once

#include <cstdint>

namespace megascope::kernels {

inline constexpr std::uint64_t kMaxNarrow = 8;  ///< elements of a tile

/// Sums `tiles` consecutive tiles of `width` float32 elements each (1 to kMaxNarrow) and
/// multiplies by `scale`. Any alignment. Computed in double precision, element by element, as a
/// plain loop.
using SumFloatTiles = void (*)(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells);

/// Returns the function for processors with AVX2; nullptr if this processor lacks it.
SumFloatTiles sum_float_tiles_of_avx2() noexcept;

}  // namespace megascope::kernels
