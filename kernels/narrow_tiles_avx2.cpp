#include "kernels/narrow_tiles.h"

#include <cstring>
#include <immintrin.h>

// Compiled for AVX2 only: must not contain anything that the linker may share (finite_lanes.h).
namespace megascope::kernels {
namespace {

#define MEGASCOPE_INLINE static inline __attribute__((always_inline))

constexpr std::uint64_t kBytes = sizeof(float);

MEGASCOPE_INLINE float load(const unsigned char* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Loads two floats from each address.
MEGASCOPE_INLINE __m128 load_pairs(const unsigned char* first, const unsigned char* second) {
  double low;
  double high;
  std::memcpy(&low, first, sizeof low);
  std::memcpy(&high, second, sizeof high);
  return _mm_castpd_ps(_mm_setr_pd(low, high));
}

MEGASCOPE_INLINE __m128 load_four(const unsigned char* at) {
  return _mm_loadu_ps(reinterpret_cast<const float*>(at));
}

MEGASCOPE_INLINE __m256d add(__m256d sums, __m128 elements) {
  return _mm256_add_pd(sums, _mm256_cvtps_pd(elements));
}

/// Adds four elements of each of four tiles, which begin `tile` bytes apart.
MEGASCOPE_INLINE __m256d add_four(__m256d sums, const unsigned char* at, std::uint64_t tile) {
  __m128 a = load_four(at);
  __m128 b = load_four(at + tile);
  __m128 c = load_four(at + 2 * tile);
  __m128 d = load_four(at + 3 * tile);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  return add(add(add(add(sums, a), b), c), d);
}

/// Adds two elements of each.
MEGASCOPE_INLINE __m256d add_two(__m256d sums, const unsigned char* at, std::uint64_t tile) {
  const __m128 ab = load_pairs(at, at + tile);
  const __m128 cd = load_pairs(at + 2 * tile, at + 3 * tile);
  return add(add(sums, _mm_shuffle_ps(ab, cd, _MM_SHUFFLE(2, 0, 2, 0))),
             _mm_shuffle_ps(ab, cd, _MM_SHUFFLE(3, 1, 3, 1)));
}

/// Adds one element of each.
MEGASCOPE_INLINE __m256d add_one(__m256d sums, const unsigned char* at, std::uint64_t tile) {
  return add(sums,
             _mm_setr_ps(load(at), load(at + tile), load(at + 2 * tile), load(at + 3 * tile)));
}

MEGASCOPE_INLINE void sum_tiles(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                                double scale, float* cells) {
  const std::uint64_t tile = width * kBytes;
  const __m256d scales = _mm256_set1_pd(scale);
  for (; tiles >= 4; tiles -= 4, at += 4 * tile, cells += 4) {
    __m256d sums = _mm256_setzero_pd();
    std::uint64_t i = 0;
    for (; i + 4 <= width; i += 4) sums = add_four(sums, at + i * kBytes, tile);
    for (; i + 2 <= width; i += 2) sums = add_two(sums, at + i * kBytes, tile);
    if (i < width) sums = add_one(sums, at + i * kBytes, tile);
    _mm_storeu_ps(cells, _mm256_cvtpd_ps(_mm256_mul_pd(sums, scales)));
  }
  for (; tiles != 0; --tiles, at += tile) {
    double sum = 0.0;
    for (std::uint64_t i = 0; i < width; ++i) sum += static_cast<double>(load(at + i * kBytes));
    *cells++ = static_cast<float>(sum * scale);
  }
}

#undef MEGASCOPE_INLINE

}  // namespace

void sum_float_tiles_with_avx2(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells);
void sum_float_tiles_with_avx2(const unsigned char* at, std::uint64_t width, std::uint64_t tiles,
                               double scale, float* cells) {
  switch (width) {
    case 1:
      return sum_tiles(at, 1, tiles, scale, cells);
    case 2:
      return sum_tiles(at, 2, tiles, scale, cells);
    case 3:
      return sum_tiles(at, 3, tiles, scale, cells);
    case 4:
      return sum_tiles(at, 4, tiles, scale, cells);
    case 5:
      return sum_tiles(at, 5, tiles, scale, cells);
    case 6:
      return sum_tiles(at, 6, tiles, scale, cells);
    case 7:
      return sum_tiles(at, 7, tiles, scale, cells);
    default:
      return sum_tiles(at, kMaxNarrow, tiles, scale, cells);
  }
}

}  // namespace megascope::kernels
