#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tiles.h"

/// Cells of tiles on their way from states to numbers (kernels/tiles.h): `columns` numbers each, 1: TileState::a, 3: count, a and b, as
/// kernels::packed_tile() makes them. Pure.
namespace megascope::live {

/// Merges a row's cells into others where they are filled already, and copies them where not. is_filled: of each cell.
void merge_cells(const kernels::TileMethod& method, std::uint32_t columns, std::span<const std::uint8_t> is_filled, std::span<const float> from, float* to);

/// Rows of cells of which some are not filled: their neighbours may lack elements, and are made NaN.
void spoil_edges(std::span<const std::uint8_t> is_filled, std::vector<float>& cells);

/// Makes each cell its number, one float; of tiles that lack elements NaN. cells: whole rows of grid.count().
void finish_cells(const kernels::TileMethod& method, const kernels::TileGrid& grid, std::uint32_t columns, std::vector<float>& cells);

void keep_first_column(std::uint32_t columns, std::vector<float>& cells);

}  // namespace megascope::live
