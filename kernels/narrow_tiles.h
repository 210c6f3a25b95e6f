#pragma once

#include <cstdint>

namespace megascope::kernels {

inline constexpr std::uint64_t kMaxNarrow = 8;  ///< largest number of elements of a narrow tile

/// Stores `scale` times the sum of each tile in `cells`. There are `tiles` consecutive tiles of
/// `width` float32 elements each (1 to kMaxNarrow), from `at` on, with any alignment. Adds in
/// double precision and in the order of the elements, so that the result is that of a plain loop.
using SumFloatTiles = void (*)(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells);

/// Returns the function for processors with AVX2; nullptr if this processor lacks it.
SumFloatTiles sum_float_tiles_of_avx2() noexcept;

}  // namespace megascope::kernels
