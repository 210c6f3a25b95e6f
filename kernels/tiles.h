#pragma once

#include "core/record/point.h"

#include <cstddef>
#include <cstdint>
#include <span>

/// Reductions over tiles. A tile is a consecutive range of a tensor's last dimension that is shown
/// as one number.
namespace megascope::kernels {

/// How the elements of a tile are reduced to one number. Append only: the values are exchanged
/// between processes.
enum class TileReduction : std::uint8_t {
  kMean,  ///< arithmetic mean
  kMax,
  kMin,
  kStd,   ///< sample standard deviation, with the divisor count - 1
  kNorm,  ///< Euclidean norm
  kSum,
  kRms,  ///< root mean square
  kCount
};

/// A reduction of tiles. has_abs_before: elements are replaced by their absolute values before the
/// reduction. has_abs_after: the result is replaced by its absolute value.
struct TileMethod {
  TileReduction reduction = TileReduction::kMean;
  bool has_abs_before = false;
  bool has_abs_after = false;
  bool operator==(const TileMethod&) const = default;
};

/// Division of a dimension into tiles of `width` elements. The last tile may be shorter.
struct TileGrid {
  std::uint64_t extent = 0;
  std::uint64_t width = 1;
  /// Returns a grid of at most `tiles` tiles of equal width. tiles: 1 or more. If extent is 0, the
  /// grid has no tiles.
  static TileGrid of(std::uint64_t extent, std::uint64_t tiles);
  std::uint64_t count() const { return extent == 0 ? 0 : (extent - 1) / width + 1; }
  std::uint64_t width_of(std::uint64_t tile) const {
    return tile + 1 < count() ? width : extent - tile * width;
  }
};

/// Partial result of a tile, for merge_tiles(). For kStd, a is the mean and b the sum of squared
/// deviations (Welford's method). Other reductions do not use b. A NaN element makes the result
/// NaN.
struct TileState {
  double count = 0.0;
  double a = 0.0;
  double b = 0.0;
};

/// Adds `count` elements of a row, which are `stride` elements apart, to the states of their tiles.
/// The first element has index `start` in the dimension. states[0] is the state of tile
/// `first_tile`. data: any alignment. Allocates nothing; any thread.
void add_to_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                  const void* data, std::int64_t stride, std::uint64_t start, std::uint64_t count,
                  std::uint64_t first_tile, TileState* states) noexcept;
/// Returns whether sum_narrow_tiles() supports this case: means and sums of tiles with few
/// elements, which most tensors have.
bool has_narrow_sums(const TileMethod& method, const TileGrid& grid, ElementType type,
                     std::int64_t stride) noexcept;
/// Stores in `cells` what add_to_tiles() on empty states, followed by pack_tiles(), would store.
/// Call only if has_narrow_sums().
void sum_narrow_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                      const void* data, std::uint64_t start, std::uint64_t count,
                      float* cells) noexcept;
void merge_tiles(const TileMethod& method, const TileState& theirs, TileState& mine) noexcept;
/// Returns the factor by which packed_tile() multiplies sums of kMean, kRms and kStd, so that they
/// are not larger than the elements; 1 for other reductions. The factor is a power of two, so that
/// the multiplication does not round. width: elements of a tile.
double packing_scale(const TileMethod& method, std::uint64_t width) noexcept;
/// packed_tile() converts a state to values that fit float32: it replaces sums of squares by their
/// square roots and multiplies sums by packing_scale(). unpacked_tile() is the inverse.
TileState packed_tile(const TileMethod& method, std::uint64_t width,
                      const TileState& state) noexcept;
/// Applies packed_tile() to all states and stores them for sending. cells: [states][columns];
/// columns is 1 (`a`) or 3 (count, a, b).
void pack_tiles(const TileMethod& method, std::uint64_t width, std::span<const TileState> states,
                std::uint32_t columns, float* cells) noexcept;
TileState unpacked_tile(const TileMethod& method, std::uint64_t width,
                        const TileState& packed) noexcept;
/// Returns the result of the reduction. Without elements it is 0 for kSum and kNorm, else NaN.
double finish_tile(const TileMethod& method, const TileState& state) noexcept;

}  // namespace megascope::kernels
