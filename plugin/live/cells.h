#pragma once

#include "kernels/tiles.h"
#include "plugin/tensors/letter.h"

#include <cstdint>
#include <span>
#include <vector>

/// Cells of tiles on their way from states to numbers (kernels/tiles.h): `columns` numbers each, 1:
/// TileState::a, 3: count, a and b, as kernels::packed_tile() makes them. Pure.
namespace megascope::live {

/// Merges a row's cells into others where they are filled already, and copies them where not.
/// width: elements of the grid's tiles. is_filled: of each cell.
void merge_cells(const kernels::TileMethod& method, std::uint64_t width, std::uint32_t columns,
                 std::span<const std::uint8_t> is_filled, std::span<const float> from, float* to);

/// Counts the elements that a stretch of tiles has. covered: of each tile of a row so far.
void cover_cells(const kernels::TileGrid& grid, const tensors::PartStretch& stretch,
                 std::span<std::uint64_t> covered);

/// Makes those cells, one float each, NaN that lack elements. covered: empty where no tile can.
void spoil_cells(const kernels::TileGrid& grid, std::span<const std::uint64_t> covered,
                 std::vector<float>& cells);

/// Makes each cell its number, one float, as if it had all elements of its tile. cells: whole rows
/// of grid.count().
void finish_cells(const kernels::TileMethod& method, const kernels::TileGrid& grid,
                  std::uint32_t columns, std::vector<float>& cells);

void keep_first_column(std::uint32_t columns, std::vector<float>& cells);

}  // namespace megascope::live
