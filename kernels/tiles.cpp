#include "kernels/tiles.h"

#include "kernels/elements.h"
#include "kernels/narrow_tiles.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace megascope::kernels {
namespace {

constexpr std::size_t kBatch = 256;  ///< elements that are converted at once

/// The larger one; NaN if either is NaN.
double greatest(double a, double b) { return a > b || a != a ? a : b; }
double least(double a, double b) { return a < b || a != a ? a : b; }

TileState state_of_deviations(const double* values, std::size_t count) {
  TileState state{.count = static_cast<double>(count), .a = 0.0, .b = 0.0};
  for (std::size_t i = 0; i < count; ++i) state.a += values[i];
  state.a /= state.count;
  for (std::size_t i = 0; i < count; ++i) state.b += (values[i] - state.a) * (values[i] - state.a);
  return state;
}

/// count: > 0.
TileState state_of(TileReduction reduction, const double* values, std::size_t count) {
  TileState state{.count = static_cast<double>(count), .a = 0.0, .b = 0.0};
  switch (reduction) {
    case TileReduction::kStd:
      return state_of_deviations(values, count);
    case TileReduction::kMax:
    case TileReduction::kMin:
      state.a = values[0];
      for (std::size_t i = 1; i < count; ++i)
        state.a = reduction == TileReduction::kMax ? greatest(state.a, values[i])
                                                   : least(state.a, values[i]);
      return state;
    case TileReduction::kNorm:
    case TileReduction::kRms:
      for (std::size_t i = 0; i < count; ++i) state.a += values[i] * values[i];
      return state;
    default:
      for (std::size_t i = 0; i < count; ++i) state.a += values[i];
      return state;
  }
}

template <class Element>
void load_batch(const unsigned char* at, std::int64_t stride, std::size_t count, bool has_abs,
                double* values) {
  const std::int64_t bytes = stride * static_cast<std::int64_t>(sizeof(typename Element::Type));
  if (stride == 1) {
    std::array<typename Element::Type, kBatch> stored;
    std::memcpy(stored.data(), at, count * sizeof stored[0]);
    for (std::size_t i = 0; i < count; ++i) values[i] = Element::value(stored[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i, at += bytes) values[i] = load<Element>(at);
  }
  if (!has_abs) return;
  for (std::size_t i = 0; i < count; ++i) values[i] = std::abs(values[i]);
}

struct Row {
  const unsigned char* data;
  std::int64_t stride;
  std::uint64_t start;
  std::uint64_t count;
};

/// Position of a batch in the tiles of a row.
struct TileCursor {
  TileState* state;
  std::uint64_t left_in_tile;
  std::uint64_t width;

  /// Size of a batch, chosen so that tiles that fit into one batch are never divided by its end.
  std::uint64_t batch_of(std::uint64_t left) const {
    const std::uint64_t whole = left_in_tile >= kBatch
                                    ? kBatch
                                    : left_in_tile + (kBatch - left_in_tile) / width * width;
    return std::min(left, whole);
  }
  void go_on(std::uint64_t count) {
    left_in_tile -= count;
    if (left_in_tile != 0) return;
    ++state;
    left_in_tile = width;
  }
};

void add_batch(const TileMethod& method, const double* values, std::uint64_t count,
               TileCursor& cursor) {
  for (const double* const end = values + count; values != end;) {
    const std::uint64_t run = std::min(cursor.left_in_tile,
                                       static_cast<std::uint64_t>(end - values));
    merge_tiles(method, state_of(method.reduction, values, run), *cursor.state);
    values += run;
    cursor.go_on(run);
  }
}

/// As add_batch(), for sums, which are the most frequent case.
void add_batch_of_sums(const double* values, std::uint64_t count, TileCursor& cursor) {
  for (const double* const end = values + count; values != end;) {
    const std::uint64_t run = std::min(cursor.left_in_tile,
                                       static_cast<std::uint64_t>(end - values));
    double sum = 0.0;
    for (const double* const run_end = values + run; values != run_end; ++values) sum += *values;
    TileState& state = *cursor.state;
    state.a = state.count == 0.0 ? sum : state.a + sum;
    state.count += static_cast<double>(run);
    cursor.go_on(run);
  }
}

/// Returns 2^-exponent, exponent: 0 to 64. Called for each row, hence without ldexp().
double inverse_power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 - exponent) << 52);
}

bool is_of_sums(TileReduction reduction) {
  return reduction == TileReduction::kMean || reduction == TileReduction::kSum;
}

template <class Element>
void add_row(const TileMethod& method, const TileGrid& grid, const Row& row,
             std::uint64_t first_tile, TileState* states) {
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(typename Element::Type));
  const std::uint64_t tile = row.start / grid.width;
  TileCursor cursor{states + (tile - first_tile), (tile + 1) * grid.width - row.start, grid.width};
  std::array<double, kBatch> values;
  for (std::uint64_t done = 0; done < row.count;) {
    const std::uint64_t count = cursor.batch_of(row.count - done);
    load_batch<Element>(row.data + static_cast<std::int64_t>(done) * row.stride * kBytes,
                        row.stride, count, method.has_abs_before, values.data());
    if (is_of_sums(method.reduction))
      add_batch_of_sums(values.data(), count, cursor);
    else
      add_batch(method, values.data(), count, cursor);
    done += count;
  }
}

template <class Element>
double sum_of(const unsigned char* at, std::uint64_t count) {
  double sum = 0.0;
  for (std::uint64_t i = 0; i < count; ++i)
    sum += load<Element>(at + i * sizeof(typename Element::Type));
  return sum;
}

/// Sums tiles of kWidth elements, without an inner loop that would cost more than the sums.
template <class Element, std::uint64_t kWidth>
void sum_whole_tiles(const unsigned char* at, std::uint64_t tiles, double scale, float* cells) {
  for (std::uint64_t tile = 0; tile < tiles; ++tile, at += kWidth * sizeof(typename Element::Type))
    cells[tile] = static_cast<float>(sum_of<Element>(at, kWidth) * scale);
}

template <class Element>
void sum_narrow_tiles(std::uint64_t width, double scale, const unsigned char* at,
                      std::uint64_t start, std::uint64_t count, float* cells) {
  using WholeTiles = void (*)(const unsigned char*, std::uint64_t, double, float*);
  constexpr std::array<WholeTiles, kMaxNarrow> kOfWidth{
      &sum_whole_tiles<Element, 1>, &sum_whole_tiles<Element, 2>, &sum_whole_tiles<Element, 3>,
      &sum_whole_tiles<Element, 4>, &sum_whole_tiles<Element, 5>, &sum_whole_tiles<Element, 6>,
      &sum_whole_tiles<Element, 7>, &sum_whole_tiles<Element, 8>};
  constexpr std::uint64_t kBytes = sizeof(typename Element::Type);
  const std::uint64_t first = std::min((width - start % width) % width, count);
  if (first != 0) *cells++ = static_cast<float>(sum_of<Element>(at, first) * scale);
  const std::uint64_t tiles = (count - first) / width;
  static const SumFloatTiles of_floats = sum_float_tiles_of_avx2();
  if (std::is_same_v<Element, Plain<float>> && of_floats != nullptr)
    of_floats(at + first * kBytes, width, tiles, scale, cells);
  else
    kOfWidth[width - 1](at + first * kBytes, tiles, scale, cells);
  const std::uint64_t last = count - first - tiles * width;
  if (last != 0)
    cells[tiles] = static_cast<float>(sum_of<Element>(at + (count - last) * kBytes, last) * scale);
}

}  // namespace

TileGrid TileGrid::of(std::uint64_t extent, std::uint64_t tiles) {
  return {extent, extent == 0 ? 1 : (extent - 1) / std::max<std::uint64_t>(tiles, 1) + 1};
}

void add_to_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                  const void* data, std::int64_t stride, std::uint64_t start, std::uint64_t count,
                  std::uint64_t first_tile, TileState* states) noexcept {
  const Row row{static_cast<const unsigned char*>(data), stride, start, count};
  with_elements(type, [&](auto element) {
    add_row<decltype(element)>(method, grid, row, first_tile, states);
  });
}

bool has_narrow_sums(const TileMethod& method, const TileGrid& grid, ElementType type,
                     std::int64_t stride) noexcept {
  return is_of_sums(method.reduction) && !method.has_abs_before && grid.width <= kMaxNarrow &&
         stride == 1 && (type == ElementType::kFloat32 || type == ElementType::kBfloat16);
}

void sum_narrow_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                      const void* data, std::uint64_t start, std::uint64_t count,
                      float* cells) noexcept {
  const auto* const at = static_cast<const unsigned char*>(data);
  const double scale = packing_scale(method, grid.width);
  if (type == ElementType::kBfloat16)
    sum_narrow_tiles<Bfloat16>(grid.width, scale, at, start, count, cells);
  else
    sum_narrow_tiles<Plain<float>>(grid.width, scale, at, start, count, cells);
}

void merge_tiles(const TileMethod& method, const TileState& theirs, TileState& mine) noexcept {
  if (theirs.count == 0.0) return;
  if (mine.count == 0.0) {
    mine = theirs;
    return;
  }
  switch (method.reduction) {
    case TileReduction::kMax:
      mine.a = greatest(mine.a, theirs.a);
      break;
    case TileReduction::kMin:
      mine.a = least(mine.a, theirs.a);
      break;
    case TileReduction::kStd: {  // Chan, Golub, LeVeque: Algorithms for computing the sample
                                 // variance (1983)
      const double count = mine.count + theirs.count;
      const double apart = theirs.a - mine.a;
      mine.b += theirs.b + apart * apart * mine.count * theirs.count / count;
      mine.a += apart * theirs.count / count;
      break;
    }
    default:
      mine.a += theirs.a;
  }
  mine.count += theirs.count;
}

double packing_scale(const TileMethod& method, std::uint64_t width) noexcept {
  const auto bits = static_cast<int>(std::bit_width(
      width - 1));  // the sum of `width` elements is at most 2^bits times the largest element
  switch (method.reduction) {
    case TileReduction::kMean:
      return inverse_power_of_two(bits);
    case TileReduction::kRms:
    case TileReduction::kStd:
      return inverse_power_of_two((bits + 1) / 2);
    default:
      return 1.0;
  }
}

TileState packed_tile(const TileMethod& method, std::uint64_t width,
                      const TileState& state) noexcept {
  const double scale = packing_scale(method, width);
  switch (method.reduction) {
    case TileReduction::kNorm:
    case TileReduction::kRms:
      return {.count = state.count, .a = std::sqrt(state.a) * scale, .b = state.b};
    case TileReduction::kStd:
      return {.count = state.count, .a = state.a, .b = std::sqrt(state.b) * scale};
    default:
      return {.count = state.count, .a = state.a * scale, .b = state.b};
  }
}

void pack_tiles(const TileMethod& method, std::uint64_t width, std::span<const TileState> states,
                std::uint32_t columns, float* cells) noexcept {
  if (columns == 1 && is_of_sums(method.reduction)) {
    const double scale = packing_scale(method, width);
    for (const TileState& state : states) *cells++ = static_cast<float>(state.a * scale);
    return;
  }
  for (const TileState& made : states) {
    const TileState state = packed_tile(method, width, made);
    if (columns == 3) *cells++ = static_cast<float>(state.count);
    *cells++ = static_cast<float>(state.a);
    if (columns == 3) *cells++ = static_cast<float>(state.b);
  }
}

TileState unpacked_tile(const TileMethod& method, std::uint64_t width,
                        const TileState& packed) noexcept {
  const double scale = 1.0 / packing_scale(method, width);
  switch (method.reduction) {
    case TileReduction::kNorm:
    case TileReduction::kRms:
      return {.count = packed.count, .a = packed.a * scale * packed.a * scale, .b = packed.b};
    case TileReduction::kStd:
      return {.count = packed.count, .a = packed.a, .b = packed.b * scale * packed.b * scale};
    default:
      return {.count = packed.count, .a = packed.a * scale, .b = packed.b};
  }
}

double finish_tile(const TileMethod& method, const TileState& state) noexcept {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double value = state.a;
  switch (method.reduction) {
    case TileReduction::kMean:
      value = state.count == 0.0 ? kNone : state.a / state.count;
      break;
    case TileReduction::kRms:
      value = state.count == 0.0 ? kNone : std::sqrt(state.a / state.count);
      break;
    case TileReduction::kStd:
      value = state.count < 2.0 ? kNone : std::sqrt(state.b / (state.count - 1.0));
      break;
    case TileReduction::kNorm:
      value = std::sqrt(state.a);
      break;
    case TileReduction::kMax:
    case TileReduction::kMin:
      value = state.count == 0.0 ? kNone : state.a;
      break;
    default:
      break;
  }
  return method.has_abs_after ? std::abs(value) : value;
}

}  // namespace megascope::kernels
