#pragma once

#include "kernels/tiles.h"
#include "plugin/capture/rank_update.h"

#include <cstdint>
#include <span>
#include <vector>

/// Combines the cells that several ranks sent for the same tiles, and computes the number that is
/// shown for each tile. A cell is the partial result of one tile (kernels::TileState), as `columns`
/// floats that kernels::packed_tile() computed. If `columns` is 1, the float is TileState::a (a
/// sum, for example). If it is 3, the floats are TileState's count of elements, a and b. Pure
/// functions.
namespace megascope::live {

/// Merges the row of cells `from` into the row `to`. If is_filled of a cell is not 0, `to` has a
/// value for the cell, and both are combined; otherwise the cell is copied. width: number of
/// elements in a tile. is_filled: one entry for each cell of the row.
void merge_cells(const kernels::TileMethod& method, std::uint64_t width, std::uint32_t columns,
                 std::span<const std::uint8_t> is_filled, std::span<const float> from, float* to);

/// Adds, for each tile of a stretch, the number of its elements that the sending rank holds to
/// `covered`. covered: one count for each tile of a row.
void cover_cells(const kernels::TileGrid& grid, const capture::PartStretch& stretch,
                 std::span<std::uint64_t> covered);

/// Sets cells with missing elements to NaN. cells: one float for each cell. covered: number of
/// present elements of each tile of a row; empty if no element can be missing.
void spoil_cells(const kernels::TileGrid& grid, std::span<const std::uint64_t> covered,
                 std::vector<float>& cells);

/// Replaces each cell by one float, the result of the reduction (kernels::finish_tile()), assuming
/// that its tile is complete. cells: complete rows of grid.count() cells.
void finish_cells(const kernels::TileMethod& method, const kernels::TileGrid& grid,
                  std::uint32_t columns, std::vector<float>& cells);

/// Keeps only the first column of each cell.
void keep_first_column(std::uint32_t columns, std::vector<float>& cells);

}  // namespace megascope::live
