#pragma once

#include "core/record/point.h"

#include <cstddef>
#include <cstdint>
#include <span>

/// Reductions over tiles. A tile is a consecutive range of a tensor's last dimension that is shown
/// as one number.
namespace megascope::kernels {

/// Append only: exchanged between processes. kStd: sample standard deviation, divided by count - 1.
enum class TileReduction : std::uint8_t { kMean, kMax, kMin, kStd, kNorm, kSum, kRms, kCount };

/// A reduction, with |x| of each element before it and of the result after it.
struct TileMethod {
  TileReduction reduction = TileReduction::kMean;
  bool has_abs_before = false;
  bool has_abs_after = false;
  bool operator==(const TileMethod&) const = default;
};

/// Division of a dimension into tiles of `width` elements; the last one may be shorter.
struct TileGrid {
  std::uint64_t extent = 0;
  std::uint64_t width = 1;
  /// Returns a grid of at most `tiles` tiles (at least 1) of one width. extent 0: no tiles.
  static TileGrid of(std::uint64_t extent, std::uint64_t tiles);
  std::uint64_t count() const { return extent == 0 ? 0 : (extent - 1) / width + 1; }
  std::uint64_t width_of(std::uint64_t tile) const {
    return tile + 1 < count() ? width : extent - tile * width;
  }
};

/// Partial result of a tile, which can be merged: for kStd Welford's mean and sum of squared
/// deviations; for others `a` only. A NaN element makes it NaN.
struct TileState {
  double count = 0.0;
  double a = 0.0;
  double b = 0.0;
};

/// Adds `count` elements of a row, `stride` elements apart, to the states of their tiles. The first
/// one is element `start` of the dimension; states[0] is that of tile `first_tile`. data: any
/// alignment. Allocates nothing; any thread.
void add_to_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                  const void* data, std::int64_t stride, std::uint64_t start, std::uint64_t count,
                  std::uint64_t first_tile, TileState* states) noexcept;
/// Returns whether sum_narrow_tiles() supports this case: means and sums of tiles with few
/// elements, which most tensors have.
bool has_narrow_sums(const TileMethod& method, const TileGrid& grid, ElementType type,
                     std::int64_t stride) noexcept;
/// If has_narrow_sums(): computes the cells of add_to_tiles() on empty states, in the form of
/// pack_tiles().
void sum_narrow_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                      const void* data, std::uint64_t start, std::uint64_t count,
                      float* cells) noexcept;
void merge_tiles(const TileMethod& method, const TileState& theirs, TileState& mine) noexcept;
/// Returns the factor by which sums for a mean, rms or std are multiplied in cells, so that they
/// are not larger than the elements. A power of two, which does not round. width: elements of a
/// tile.
double packing_scale(const TileMethod& method, std::uint64_t width) noexcept;
/// Converts a state for cells of float32, and back: square roots of sums of squares, multiplied by
/// packing_scale().
TileState packed_tile(const TileMethod& method, std::uint64_t width,
                      const TileState& state) noexcept;
/// Applies packed_tile() to all states and stores them for sending. cells: [states][columns];
/// columns is 1 (`a`) or 3 (count, a, b).
void pack_tiles(const TileMethod& method, std::uint64_t width, std::span<const TileState> states,
                std::uint32_t columns, float* cells) noexcept;
TileState unpacked_tile(const TileMethod& method, std::uint64_t width,
                        const TileState& packed) noexcept;
/// Returns the number to show; NaN without elements (0 for kSum and kNorm).
double finish_tile(const TileMethod& method, const TileState& state) noexcept;

}  // namespace megascope::kernels
