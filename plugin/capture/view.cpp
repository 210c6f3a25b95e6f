#include "plugin/capture/view.h"

#include "kernels/elements.h"
#include "kernels/tensor_statistics.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace megascope::capture {
namespace {

using kernels::TileGrid;
using kernels::TileState;
using Shape = std::vector<std::uint64_t>;

constexpr std::uint64_t kMaxViewBytes = std::uint64_t{4} << 20;
constexpr std::string_view kTensorParallel = "tp";
constexpr const char* kBlocksProblem = "has blocks that do not divide its split dimension";
constexpr std::string_view kDataParallel = "dp";

const ParallelIndex* find(const tensors::Layout& layout, std::string_view name) {
  const auto found = std::ranges::find(layout.dimensions, name, &ParallelIndex::name);
  return found == layout.dimensions.end() ? nullptr : &*found;
}

/// Sets the stretches of this rank: an equal part of each block.
bool set_stretches(const TensorView& tensor, const ParallelIndex& place, Spread& spread) {
  const std::uint64_t extent = tensor.shape.extents[static_cast<std::size_t>(spread.dimension)];
  const auto size = static_cast<std::uint64_t>(place.size);
  spread.whole_extent = extent * size;
  const std::uint32_t one = 1;
  const std::span<const std::uint32_t> blocks = tensor.block_count == 0
                                                    ? std::span(&one, 1)
                                                    : std::span(tensor.blocks)
                                                          .first(tensor.block_count);
  const std::uint64_t shares = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  if (shares == 0 || extent % shares != 0) return false;
  std::uint64_t start = 0;
  for (const std::uint32_t block : blocks) {
    const std::uint64_t count = extent / shares * block;
    spread.stretches.push_back(
        {start, start * size + count * static_cast<std::uint64_t>(place.index), count});
    start += count;
  }
  return true;
}

/// Like the roles in shards.h, except that of the replicas one is selected.
void set_copy(const TensorView& tensor, const tensors::Layout& layout, const ParallelIndex* split,
              Spread& spread) {
  for (const ParallelIndex& dimension : layout.dimensions) {
    if (&dimension == split) continue;
    if (dimension.name == kDataParallel && !tensors::is_of_model(tensor.shape.kind)) continue;
    const bool has_others = dimension.name != kDataParallel &&
                            // They hold other layers or other tensors.
                            dimension.name != kTensorParallel;
    if (has_others)
      spread.copy = spread.copy * static_cast<std::uint32_t>(dimension.size) +
                    static_cast<std::uint32_t>(dimension.index);
    else
      spread.is_first_copy = spread.is_first_copy && dimension.index == 0;
  }
}

/// Extents of a tensor; a scalar has one element.
Shape shape_of(const TensorView& tensor) {
  Shape shape(tensor.shape.extents.begin(),
              tensor.shape.extents.begin() + tensor.shape.dimension_count);
  if (shape.empty()) shape.push_back(1);
  return shape;
}

std::uint64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::uint64_t{1}, std::multiplies<>());
}

/// Calls `function` with the address of the first element of each row (last dimension), in order.
template <class Function>
void for_each_row(const TensorView& tensor, const Shape& shape, Function function) {
  const std::size_t outer = shape.size() - 1;
  const auto bytes = static_cast<std::int64_t>(kernels::element_bytes(tensor.shape.type));
  std::array<std::uint64_t, kMaxTensorDimensions> index{};
  if (product(shape) == 0) return;
  for (;;) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < outer; ++d)
      offset += static_cast<std::int64_t>(index[d]) * tensor.strides[d];
    function(static_cast<const unsigned char*>(tensor.data) + offset * bytes);
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == shape[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

/// Converts stretches of elements of the last dimension into stretches of tiles. The first and the
/// last tile of a stretch may be incomplete.
std::vector<PartStretch> tiles_of(const TileGrid& grid, const std::vector<PartStretch>& stretches) {
  std::vector<PartStretch> tiles;
  std::uint64_t start = 0;
  for (const PartStretch& stretch : stretches) {
    if (stretch.count == 0) continue;
    const std::uint64_t first = stretch.whole_start / grid.width;
    const std::uint64_t count = (stretch.whole_start + stretch.count - 1) / grid.width - first + 1;
    tiles.push_back({start, first, count, stretch.whole_start, stretch.count});
    start += count;
  }
  return tiles;
}

/// Calls `function` for each non-empty stretch, with the byte offset of its elements in a row, its
/// first tile and the index of its first cell.
template <class Function>
void for_each_stretch(const TileGrid& grid, const std::vector<PartStretch>& stretches,
                      std::int64_t element_step, Function function) {
  std::uint64_t cell = 0;
  for (const PartStretch& stretch : stretches) {
    if (stretch.count == 0) continue;
    const std::uint64_t first = stretch.whole_start / grid.width;
    function(stretch, static_cast<std::int64_t>(stretch.start) * element_step, first, cell);
    cell += (stretch.whole_start + stretch.count - 1) / grid.width - first + 1;
  }
}

void add_tiles(const CaptureRequest& capture_request, const TensorView& tensor, const Shape& shape,
               const TileGrid& grid, const std::vector<PartStretch>& stretches, ViewPart& part) {
  const std::int64_t stride = tensor.shape.dimension_count == 0 ? 1
                                                                : tensor.strides[shape.size() - 1];
  const std::int64_t element_step = stride * static_cast<std::int64_t>(
                                                 kernels::element_bytes(tensor.shape.type));
  const ElementType type = tensor.shape.type;
  const kernels::TileMethod method = capture_request.method();
  const bool is_short = kernels::has_narrow_sums(method, grid, type, stride);
  std::vector<TileState> states(part.shape.back());
  float* cells = part.elements.data();
  for_each_row(tensor, shape, [&](const unsigned char* row) {
    if (!is_short) std::ranges::fill(states, TileState{});
    for_each_stretch(
        grid, stretches, element_step,
        [&](const PartStretch& stretch, std::int64_t offset, std::uint64_t first,
            std::uint64_t cell) {
          if (is_short)
            kernels::sum_narrow_tiles(method, grid, type, row + offset, stretch.whole_start,
                                      stretch.count, cells + cell);
          else
            kernels::add_to_tiles(method, grid, type, row + offset, stride, stretch.whole_start,
                                  stretch.count, first, states.data() + cell);
        });
    if (!is_short) kernels::pack_tiles(method, grid.width, states, part.columns, cells);
    cells += states.size() * part.columns;
  });
}

bool make_tiles(const CaptureRequest& capture_request, const TensorView& tensor,
                const Spread& spread, const Shape& shape, ViewPart& part) {
  const std::size_t last = shape.size() - 1;
  const bool splits_tiles = spread.dimension == static_cast<std::int32_t>(last);
  const TileGrid grid = TileGrid::of(part.full_shape[last], capture_request.tiles);
  part.tile_width = grid.width;
  part.tile_extent = grid.extent;
  part.columns = capture_request.method().reduction == kernels::TileReduction::kStd ? 3 : 1;
  part.whole_shape = part.full_shape;
  part.whole_shape[last] = grid.count();
  part.shape = shape;
  part.shape[last] = grid.count();
  std::vector<PartStretch> stretches{{0, 0, shape[last]}};
  if (splits_tiles) {
    stretches = spread.stretches;
    part.stretches = tiles_of(grid, stretches);
    part.shape[last] = part.stretches.empty()
                           ? 0
                           : part.stretches.back().start + part.stretches.back().count;
  }
  if (product(part.shape) * part.columns * sizeof(float) > kMaxViewBytes) return false;
  part.elements.resize(product(part.shape) * part.columns);
  add_tiles(capture_request, tensor, shape, grid, stretches, part);
  return true;
}

bool make_whole(const TensorView& tensor, const Shape& shape, ViewPart& part) {
  part.whole_shape = part.full_shape;
  part.shape = shape;
  if (product(part.whole_shape) > kMaxWholeElements) return false;
  part.elements.reserve(product(shape));
  const std::int64_t stride = tensor.shape.dimension_count == 0 ? 1
                                                                : tensor.strides[shape.size() - 1];
  for_each_row(tensor, shape, [&](const unsigned char* row) {
    kernels::with_elements(tensor.shape.type, [&](auto element) {
      using Element = decltype(element);
      for (std::uint64_t i = 0; i < shape.back(); ++i) {
        const std::int64_t offset = static_cast<std::int64_t>(i) * stride *
                                    static_cast<std::int64_t>(sizeof(typename Element::Type));
        part.elements.push_back(static_cast<float>(kernels::load<Element>(row + offset)));
      }
    });
  });
  return true;
}

}  // namespace

std::optional<TensorView> flattened(const TensorView& tensor, std::uint32_t keep,
                                    std::string& problem) {
  const std::size_t count = tensor.shape.dimension_count;
  if (keep == 0 || keep + std::size_t{1} >= count) return tensor;
  TensorView flat = tensor;
  const std::uint64_t shares = std::accumulate(
      tensor.blocks.begin(), tensor.blocks.begin() + tensor.block_count, std::uint64_t{0});
  if (shares != 0 && tensor.shape.extents[keep] % shares != 0) {
    problem = kBlocksProblem;
    return std::nullopt;
  }
  std::uint64_t extent = tensor.shape.extents[count - 1];
  for (std::size_t d = count - 1; d-- > keep;) {
    const bool goes_on = tensor.shape.extents[d] <= 1 ||
                         tensor.strides[d] ==
                             static_cast<std::int64_t>(extent) * tensor.strides[count - 1];
    if (!goes_on || tensor.shape.split_dimension > static_cast<std::int8_t>(keep)) {
      problem = goes_on ? "is split along one of the merged dimensions other than the first"
                        : "has merged dimensions that are not contiguous";
      return std::nullopt;
    }
    extent *= tensor.shape.extents[d];
  }
  flat.shape.dimension_count = static_cast<std::uint8_t>(keep + 1);
  flat.shape.extents[keep] = extent;
  flat.strides[keep] = tensor.strides[count - 1];
  return flat;
}

std::optional<Spread> spread_of(const TensorView& tensor, const tensors::Layout& layout,
                                std::string& problem) {
  Spread spread;
  const std::string_view group = tensor.split_group.empty() ? kTensorParallel : tensor.split_group;
  const ParallelIndex* const split = tensor.shape.split_dimension >= 0 ? find(layout, group)
                                                                       : nullptr;
  if (tensor.shape.split_dimension >= 0 && split == nullptr) {
    problem = "is split along '" + std::string(group) + "', a group that was not annotated";
    return std::nullopt;
  }
  set_copy(tensor, layout, split, spread);
  if (split == nullptr || split->size == 1) return spread;
  spread.dimension = tensor.shape.split_dimension;
  spread.parts = static_cast<std::uint32_t>(split->size);
  if (set_stretches(tensor, *split, spread)) return spread;
  problem = kBlocksProblem;
  return std::nullopt;
}

std::optional<ViewPart> make_part(const CaptureRequest& capture_request, const TensorView& tensor,
                                  const Spread& spread, std::string& problem) {
  const Shape shape = shape_of(tensor);
  ViewPart part;
  part.full_shape = shape;
  part.parts = spread.parts;
  part.copy = spread.copy;
  part.micro_batch = tensor.shape.micro_batch;
  if (spread.dimension >= 0) {
    part.full_shape[static_cast<std::size_t>(spread.dimension)] = spread.whole_extent;
    part.split_dimension = spread.dimension;
    part.stretches = spread.stretches;
  }
  const bool is_tile = capture_request.kind == CaptureRequestKind::kTile;
  if (is_tile ? make_tiles(capture_request, tensor, spread, shape, part)
              : make_whole(tensor, shape, part))
    return part;
  problem = is_tile
                ? "has too many tiles: they exceed " + std::to_string(kMaxViewBytes >> 20) + " MiB"
                : "has " + std::to_string(product(part.full_shape)) + " elements; at most " +
                      std::to_string(kMaxWholeElements) + " can be shown without reduction";
  return std::nullopt;
}

}  // namespace megascope::capture
