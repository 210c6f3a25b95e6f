#include "plugin/live/views/cells.h"

#include <algorithm>
#include <limits>

namespace megascope::live {
namespace {

using kernels::TileMethod;
using kernels::TileReduction;
using kernels::TileState;

TileState state_at(const TileMethod& method, std::uint64_t width, const float* cell,
                   std::uint32_t columns) {
  if (columns == 1) return kernels::unpacked_tile(method, width, {.count = 1.0, .a = cell[0]});
  return kernels::unpacked_tile(method, width, {.count = cell[0], .a = cell[1], .b = cell[2]});
}

/// Converts the cells of one row or of its last tile, which may be narrower. width: tile width of
/// the grid; count: elements in each of these tiles.
void finish_row(const TileMethod& method, std::uint64_t width, double count,
                std::span<float> cells) {
  for (float& cell : cells)
    cell = static_cast<float>(kernels::finish_tile(
        method, kernels::unpacked_tile(method, width, {.count = count, .a = cell})));
}

/// Vectorizable version of finish_row() for means, the most common method. scaled_count: count
/// times packing_scale().
void finish_means(double scaled_count, std::span<float> cells) {
  for (float& cell : cells) cell = static_cast<float>(static_cast<double>(cell) / scaled_count);
}

void finish_states(const TileMethod& method, const kernels::TileGrid& grid,
                   std::vector<float>& cells) {
  const std::size_t count = cells.size() / 3;
  const std::uint64_t columns = grid.count();
  for (std::size_t i = 0; i < count; ++i) {
    TileState state = state_at(method, grid.width, cells.data() + 3 * i, 3);
    state.count = static_cast<double>(grid.width_of(
        // The count was sent as float32, which cannot represent odd numbers above 2^24.
        i % columns));
    cells[i] = static_cast<float>(kernels::finish_tile(method, state));
  }
  cells.resize(count);
}

}  // namespace

void merge_cells(const TileMethod& method, std::uint64_t width, std::uint32_t columns,
                 std::span<const std::uint8_t> is_filled, std::span<const float> from, float* to) {
  const std::size_t count = is_filled.size();
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t empty_end = i;
    while (empty_end < count && is_filled[empty_end] == 0) ++empty_end;
    std::copy_n(from.data() + i * columns, (empty_end - i) * columns, to + i * columns);
    i = empty_end;
    if (i == count) return;
    const float* const theirs = from.data() + i * columns;
    float* const mine = to + i * columns;
    TileState merged = state_at(method, width, mine, columns);
    kernels::merge_tiles(method, state_at(method, width, theirs, columns), merged);
    merged = kernels::packed_tile(method, width, merged);
    if (columns == 1) {
      mine[0] = static_cast<float>(merged.a);
    } else {
      mine[0] = static_cast<float>(merged.count);
      mine[1] = static_cast<float>(merged.a);
      mine[2] = static_cast<float>(merged.b);
    }
  }
}

void cover_cells(const kernels::TileGrid& grid, const capture::PartStretch& stretch,
                 std::span<std::uint64_t> covered) {
  for (std::uint64_t tile = stretch.whole_start; tile < stretch.whole_start + stretch.count;
       ++tile) {
    std::uint64_t begin = tile * grid.width;
    std::uint64_t end = std::min(begin + grid.width, grid.extent);
    if (stretch.element_count != 0) {
      begin = std::max(begin, stretch.first_element);
      end = std::min(end, stretch.first_element + stretch.element_count);
    }
    if (begin < end) covered[tile] += end - begin;
  }
}

void spoil_cells(const kernels::TileGrid& grid, std::span<const std::uint64_t> covered,
                 std::vector<float>& cells) {
  for (std::size_t tile = 0; tile < covered.size(); ++tile) {
    const std::uint64_t begin = tile * grid.width;
    if (begin + covered[tile] >= std::min(begin + grid.width, grid.extent)) continue;
    for (std::size_t i = tile; i < cells.size(); i += covered.size())
      cells[i] = std::numeric_limits<float>::quiet_NaN();
  }
}

void finish_cells(const TileMethod& method, const kernels::TileGrid& grid, std::uint32_t columns,
                  std::vector<float>& cells) {
  const std::size_t row = grid.count();
  if (row == 0 || cells.size() % (row * columns) != 0) return;
  if (columns != 1) return finish_states(method, grid, cells);
  const bool is_as_it_is = !method.has_abs_after && (method.reduction == TileReduction::kSum ||
                                                     method.reduction == TileReduction::kMax ||
                                                     method.reduction == TileReduction::kMin);
  if (is_as_it_is) return;
  const bool is_mean = method.reduction == TileReduction::kMean && !method.has_abs_after;
  const double scale = kernels::packing_scale(method, grid.width);
  const auto finish = [&](std::uint64_t elements, std::span<float> some) {
    if (is_mean)
      finish_means(static_cast<double>(elements) * scale, some);
    else
      finish_row(method, grid.width, static_cast<double>(elements), some);
  };
  for (std::size_t at = 0; at < cells.size(); at += row) {
    finish(grid.width, {cells.data() + at, row - 1});
    finish(grid.width_of(row - 1), {cells.data() + at + row - 1, 1});
  }
}

void keep_first_column(std::uint32_t columns, std::vector<float>& cells) {
  const std::size_t count = cells.size() / columns;
  for (std::size_t i = 0; i < count; ++i) cells[i] = cells[i * columns];
  cells.resize(count);
}

}  // namespace megascope::live
