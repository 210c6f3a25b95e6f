#pragma once

#include <cstdint>

namespace megascope::kernels {

inline constexpr std::uint64_t kMostNarrow = 8;  ///< elements of a tile

/// Sums of `tiles` tiles of `width` float32 elements each, 1 to kMostNarrow, one behind the other,
/// times `scale`; any alignment. Formed in double precision, element by element, as a plain loop
/// would.
using SumFloatTiles = void (*)(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells);

/// For processors with AVX2; nullptr: this is none.
SumFloatTiles sum_float_tiles_of_avx2() noexcept;

}  // namespace megascope::kernels
