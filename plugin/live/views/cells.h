#pragma once

#include "kernels/tiles.h"
#include "plugin/capture/rank_update.h"

#include <cstdint>
#include <span>
#include <vector>

/// Combines tile cells of several ranks and converts them to numbers (kernels/tiles.h). A cell has
/// `columns` floats as written by kernels::packed_tile(): 1: TileState::a; 3: count, a and b. Pure
/// functions.
namespace megascope::live {

/// Merges a row of cells into `to`: combines cells that are already filled and copies the others.
/// width: elements in a tile. is_filled: one flag a cell.
void merge_cells(const kernels::TileMethod& method, std::uint64_t width, std::uint32_t columns,
                 std::span<const std::uint8_t> is_filled, std::span<const float> from, float* to);

/// Adds the number of elements in a stretch of tiles to `covered`, which has one count for each
/// tile of a row.
void cover_cells(const kernels::TileGrid& grid, const capture::PartStretch& stretch,
                 std::span<std::uint64_t> covered);

/// Sets cells with missing elements to NaN. cells: one float each. covered: empty if no element can
/// be missing.
void spoil_cells(const kernels::TileGrid& grid, std::span<const std::uint64_t> covered,
                 std::vector<float>& cells);

/// Converts each cell to one float, assuming that its tile is complete. cells: complete rows of
/// grid.count() cells.
void finish_cells(const kernels::TileMethod& method, const kernels::TileGrid& grid,
                  std::uint32_t columns, std::vector<float>& cells);

/// Keeps only the first column of each cell.
void keep_first_column(std::uint32_t columns, std::vector<float>& cells);

}  // namespace megascope::live
