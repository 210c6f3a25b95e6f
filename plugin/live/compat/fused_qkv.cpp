#include "plugin/live/compat/fused_qkv.h"

#include <limits>
#include <numeric>

namespace megascope::live {
namespace {

using kernels::TileMethod;
using kernels::TileReduction;
using kernels::TileState;

constexpr std::size_t kDimensions = 5;

/// The reduction requested for cells, such that cells can be merged into tiles.
TileMethod of_cells(const TileMethod& method) {
  TileMethod cells{.reduction = TileReduction::kSum, .has_abs_before = method.has_abs_before};
  if (method.reduction == TileReduction::kMax || method.reduction == TileReduction::kMin)
    cells.reduction = method.reduction;
  if (method.reduction == TileReduction::kNorm || method.reduction == TileReduction::kRms)
    cells.reduction = TileReduction::kNorm;
  return cells;
}

/// The state of a cell from its number. For a standard deviation a cell has one element.
TileState state_of(const TileMethod& method, std::uint64_t cell, double value) {
  const bool is_of_squares = method.reduction == TileReduction::kNorm ||
                             method.reduction == TileReduction::kRms;
  return {.count = static_cast<double>(cell), .a = is_of_squares ? value * value : value};
}

}  // namespace

std::optional<FusedQkv> FusedQkv::of(const std::vector<std::uint64_t>& shape, std::uint32_t tiles,
                                     const TileMethod& method, std::string& problem) {
  if (shape.size() != kDimensions || shape[3] < 3 || product_of(shape) == 0) return std::nullopt;
  FusedQkv fused;
  fused.groups_ = shape[2];
  fused.heads_ = shape[3];
  fused.size_ = shape[4];
  fused.method_ = method;
  fused.cell_ = method.reduction == TileReduction::kStd ? 1 : fused.size_;
  const std::uint64_t third = tiles / 3;
  const std::uint64_t queries = shape[3] - 2;
  fused.sections_ = {Section{0, queries, third, 1}, Section{queries, 1, third, 1},
                     Section{queries + 1, 1, tiles - 2 * third, 1}};
  for (Section& section : fused.sections_) {
    if (section.tiles == 0) continue;
    section.width = kernels::TileGrid::of(fused.groups_ * section.count * fused.size_,
                                          section.tiles)
                        .width;
    fused.cell_ = std::gcd(fused.cell_, section.width);
  }
  if (fused.size_ / fused.cell_ <= capture::kMaxTiles) return fused;
  problem = "a head has " + std::to_string(fused.size_) + " elements; at most " +
            std::to_string(capture::kMaxTiles) + " can be distinguished";
  return std::nullopt;
}

capture::CaptureRequest FusedQkv::capture_request() const {
  capture::CaptureRequest capture_request{.kind = capture::CaptureRequestKind::kTile,
                                          .tiles = static_cast<std::uint32_t>(size_ / cell_)};
  set_method(capture_request, of_cells(method_));
  return capture_request;
}

/// row: the cells of one token.
void FusedQkv::add_section(const Section& section, const float* row, float* to) const {
  if (section.tiles == 0) return;
  const std::uint64_t cells = size_ / cell_;  // cells in a head
  std::vector<TileState> states(section.tiles);
  std::uint64_t element = 0;
  for (std::uint64_t group = 0; group < groups_; ++group) {
    const float* at = row + (group * heads_ + section.first) * cells;
    for (std::uint64_t i = 0; i < section.count * cells; ++i, element += cell_)
      kernels::merge_tiles(method_, state_of(method_, cell_, static_cast<double>(at[i])),
                           states[element / section.width]);
  }
  for (std::uint64_t tile = 0; tile < section.tiles; ++tile)
    to[tile] = states[tile].count == 0.0
                   ? std::numeric_limits<float>::quiet_NaN()
                   : static_cast<float>(kernels::finish_tile(method_, states[tile]));
}

std::uint64_t FusedQkv::numbers_of(const std::vector<std::uint64_t>& shape) const {
  if (shape.size() != kDimensions) return 0;  // the view is not fused
  return shape[0] * shape[1] * (sections_[0].tiles + sections_[1].tiles + sections_[2].tiles);
}

std::optional<Numbers> FusedQkv::tiles_of(const Numbers& view) const {
  const std::uint64_t cells = size_ / cell_;
  if (view.shape.size() != kDimensions || view.shape[2] != groups_ || view.shape[3] != heads_ ||
      view.shape[4] != cells)
    return std::nullopt;
  const std::uint64_t rows = view.shape[0] * view.shape[1];
  const std::uint64_t tiles = sections_[0].tiles + sections_[1].tiles + sections_[2].tiles;
  Numbers made{.shape = {view.shape[0], view.shape[1], tiles},
               .values = std::vector<float>(rows * tiles)};
  for (std::uint64_t row = 0; row < rows; ++row) {
    float* to = made.values.data() + row * tiles;
    for (const Section& section : sections_) {
      add_section(section, view.values.data() + row * groups_ * heads_ * cells, to);
      to += section.tiles;
    }
  }
  return made;
}

}  // namespace megascope::live
