#pragma once

#include "core/record/point.h"

#include <cstddef>
#include <cstdint>
#include <span>

/// A tile is a stretch of a tensor's last dimension that is shown as one number.
namespace megascope::kernels {

/// Append only: told between processes. std: of a sample, divided by count - 1.
enum class TileReduction : std::uint8_t { kMean, kMax, kMin, kStd, kNorm, kSum, kRms, kCount };

/// |x| of each element before, of the result after.
struct TileMethod {
  TileReduction reduction = TileReduction::kMean;
  bool has_abs_before = false;
  bool has_abs_after = false;
  bool operator==(const TileMethod&) const = default;
};

/// How a dimension is cut: tiles of `width` elements, the last of what is left.
struct TileGrid {
  std::uint64_t extent = 0;
  std::uint64_t width = 1;
  /// At most `tiles` tiles (at least 1) of one width. extent 0: none.
  static TileGrid of(std::uint64_t extent, std::uint64_t tiles);
  std::uint64_t count() const { return extent == 0 ? 0 : (extent - 1) / width + 1; }
  std::uint64_t width_of(std::uint64_t tile) const {
    return tile + 1 < count() ? width : extent - tile * width;
  }
};

/// What elements of one tile come to, in parts that can be merged: Welford's mean and sum of
/// squared deviations for kStd; for all others `a` alone. A NaN among the elements gives NaN.
struct TileState {
  double count = 0.0;
  double a = 0.0;
  double b = 0.0;
};

/// Adds `count` elements of a row, `stride` elements apart, of which the first is element `start`
/// of the dimension, to the states of their tiles: states[0] is tile `first_tile`'s. data: any
/// alignment. No allocation; any thread.
void add_to_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                  const void* data, std::int64_t stride, std::uint64_t start, std::uint64_t count,
                  std::uint64_t first_tile, TileState* states) noexcept;
/// Means and sums of tiles of a few elements, which is what a page shows of most tensors, have a
/// shorter way to their cells.
bool has_narrow_sums(const TileMethod& method, const TileGrid& grid, ElementType type,
                     std::int64_t stride) noexcept;
/// Where has_narrow_sums(): the cells of what add_to_tiles() would have added to states of nothing,
/// as pack_tiles() makes them.
void sum_narrow_tiles(const TileMethod& method, const TileGrid& grid, ElementType type,
                      const void* data, std::uint64_t start, std::uint64_t count,
                      float* cells) noexcept;
void merge_tiles(const TileMethod& method, const TileState& theirs, TileState& mine) noexcept;
/// What sums on the way to a mean, rms or std are multiplied by in cells, so that they are no
/// larger than the elements: a power of two, which rounds nothing. width: elements of the grid's
/// tiles.
double packing_scale(const TileMethod& method, std::uint64_t width) noexcept;
/// A state of a tile of the grid for cells of float32, and back: sums of squares as their roots,
/// and all by packing_scale().
TileState packed_tile(const TileMethod& method, std::uint64_t width,
                      const TileState& state) noexcept;
/// packed_tile() of each as it is sent: cells [states][columns], of one column `a`, of three count,
/// a and b.
void pack_tiles(const TileMethod& method, std::uint64_t width, std::span<const TileState> states,
                std::uint32_t columns, float* cells) noexcept;
TileState unpacked_tile(const TileMethod& method, std::uint64_t width,
                        const TileState& packed) noexcept;
/// The number that is shown; NaN of no element (0 for kSum and kNorm).
double finish_tile(const TileMethod& method, const TileState& state) noexcept;

}  // namespace megascope::kernels
