#include "plugin/capture/view.h"

#include "kernels/tiles.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace megascope::capture {
namespace {

/// A whole tensor of two dimensions, row-major, and what each rank of a group has of it.
struct Case {
  std::uint64_t rows = 6;
  std::uint64_t columns = 24;
  int split_dimension = -1;  ///< of which each rank has a part
  std::int32_t ranks = 1;
  std::vector<std::uint32_t> blocks;
};

std::vector<float> whole_of(const Case& shape) {
  std::vector<float> whole(shape.rows * shape.columns);
  std::mt19937 random(5);
  std::normal_distribution<float> element;
  for (float& value : whole) value = element(random);
  return whole;
}

/// Indices of the whole's split dimension that the rank has, in its own order: of each block an
/// equal share.
std::vector<std::uint64_t> indices_of(const Case& shape, std::int32_t rank) {
  const std::uint64_t extent = shape.split_dimension == 0 ? shape.rows : shape.columns;
  const std::vector<std::uint32_t> blocks = shape.blocks.empty() ? std::vector<std::uint32_t>{1}
                                                                 : shape.blocks;
  const std::uint64_t shares = std::accumulate(blocks.begin(), blocks.end(), std::uint64_t{0});
  std::vector<std::uint64_t> indices;
  std::uint64_t begin = 0;
  for (const std::uint32_t block : blocks) {
    const std::uint64_t length = extent / shares * block;
    const std::uint64_t share = length / static_cast<std::uint64_t>(shape.ranks);
    for (std::uint64_t i = 0; i < share; ++i)
      indices.push_back(begin + static_cast<std::uint64_t>(rank) * share + i);
    begin += length;
  }
  return indices;
}

struct RankTensor {
  std::vector<float> elements;
  TensorView view;
};

/// column_major: as a transposed tensor lies in memory.
RankTensor tensor_of(const Case& shape, std::int32_t rank, bool column_major) {
  const std::vector<float> whole = whole_of(shape);
  std::vector<std::uint64_t> rows(shape.rows);
  std::vector<std::uint64_t> columns(shape.columns);
  std::iota(rows.begin(), rows.end(), 0);
  std::iota(columns.begin(), columns.end(), 0);
  if (shape.split_dimension >= 0)
    (shape.split_dimension == 0 ? rows : columns) = indices_of(shape, rank);
  RankTensor tensor;
  tensor.elements.resize(rows.size() * columns.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      tensor.elements[column_major
                          ? c * rows.size() + r
                          : r * columns.size() + c] = whole[rows[r] * shape.columns + columns[c]];
    }
  }
  TensorView& view = tensor.view;
  view.name = "t";
  view.shape.dimension_count = 2;
  view.shape.extents = {rows.size(), columns.size()};
  view.shape.kind = TensorKind::kActvOut;
  view.shape.split_dimension = static_cast<std::int8_t>(shape.split_dimension);
  view.strides[0] = column_major ? 1 : static_cast<std::int64_t>(columns.size());
  view.strides[1] = column_major ? static_cast<std::int64_t>(rows.size()) : 1;
  view.block_count = static_cast<std::uint8_t>(shape.blocks.size());
  std::ranges::copy(shape.blocks, view.blocks.begin());
  view.data = tensor.elements.data();
  return tensor;
}

tensors::Layout layout_of(std::int32_t rank, std::int32_t ranks) {
  return tensors::Layout::of({{"tp", rank, ranks}}, rank, ranks);
}

/// The parts of all ranks put together, as the definition of ViewPart says.
std::vector<double> joined(const CaptureRequest& capture_request,
                           const std::vector<ViewPart>& parts) {
  const ViewPart& first = parts.front();
  const std::uint64_t cells = first.whole_shape[0] * first.whole_shape[1];
  std::vector<kernels::TileState> states(cells);
  std::vector<double> plain(cells, std::nan(""));
  std::uint64_t elements = 0;
  for (const ViewPart& part : parts) {
    const auto stretches = part.split_dimension < 0
                               ? std::vector<PartStretch>{{0, 0, part.shape[1]}}
                               : part.stretches;
    const bool is_row = part.split_dimension == 0;
    for (const PartStretch& stretch : stretches) {
      if (part.tile_width != 0 && part.split_dimension == 1) {
        EXPECT_EQ(stretch.whole_start, stretch.first_element / part.tile_width);
        EXPECT_EQ(stretch.whole_start + stretch.count,
                  (stretch.first_element + stretch.element_count - 1) / part.tile_width + 1);
        elements += stretch.element_count;
      }
      for (std::uint64_t i = 0; i < stretch.count; ++i) {
        for (std::uint64_t other = 0; other < part.shape[is_row ? 1 : 0]; ++other) {
          const std::uint64_t mine = is_row ? (stretch.start + i) * part.shape[1] + other
                                            : other * part.shape[1] + stretch.start + i;
          const std::uint64_t theirs = is_row
                                           ? (stretch.whole_start + i) * part.whole_shape[1] + other
                                           : other * part.whole_shape[1] + stretch.whole_start + i;
          const float* const element = part.elements.data() + mine * part.columns;
          const kernels::TileGrid grid{part.tile_extent,
                                       part.tile_width == 0 ? 1 : part.tile_width};
          const auto state = part.columns == 3
                                 ? kernels::TileState{element[0], element[1], element[2]}
                                 : kernels::TileState{1.0, element[0], 0.0};
          plain[theirs] = element[0];
          kernels::merge_tiles(capture_request.method(),
                               kernels::unpacked_tile(capture_request.method(), grid.width, state),
                               states[theirs]);
          if (part.columns == 1 && part.tile_width != 0)
            states[theirs].count = static_cast<double>(grid.width_of(theirs % part.whole_shape[1]));
        }
      }
    }
  }
  if (capture_request.kind == CaptureRequestKind::kWhole) return plain;
  if (first.split_dimension == 1) {
    EXPECT_EQ(elements, first.tile_extent) << "each is of one rank";
  }
  std::vector<double> values;
  for (const kernels::TileState& state : states)
    values.push_back(kernels::finish_tile(capture_request.method(), state));
  return values;
}

std::vector<double> view_by(const CaptureRequest& capture_request, const Case& shape,
                            bool column_major) {
  std::vector<ViewPart> parts;
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    const RankTensor tensor = tensor_of(shape, rank, column_major);
    std::string problem;
    const auto spread = spread_of(tensor.view, layout_of(rank, shape.ranks), problem);
    EXPECT_TRUE(spread.has_value()) << problem;
    EXPECT_TRUE(spread->is_first_copy);
    const auto part = make_part(capture_request, tensor.view, *spread, problem);
    EXPECT_TRUE(part.has_value()) << problem;
    if (part) parts.push_back(*part);
  }
  return joined(capture_request, parts);
}

CaptureRequest tile_capture_request(kernels::TileReduction reduction, std::uint32_t tiles) {
  CaptureRequest capture_request;
  capture_request.kind = CaptureRequestKind::kTile;
  capture_request.tiles = tiles;
  set_pattern(capture_request, "*");
  set_method(capture_request, {reduction, false, false});
  return capture_request;
}

/// Column parallel, row and sequence parallel, and fused Q|K|V with grouped queries: the same
/// numbers as on one rank, also where tiles and parts do not meet.
TEST(View, OfPartsIsThatOfTheWhole) {
  const std::vector<Case> cases{{6, 24, 1, 2, {}},        {6, 24, 1, 4, {}},
                                {6, 24, 0, 3, {}},        {4, 48, 1, 2, {4, 1, 1}},
                                {4, 48, 1, 4, {4, 1, 1}}, {8, 12, 0, 2, {1, 1}}};
  for (const Case& shape : cases) {
    Case alone = shape;
    alone.ranks = 1;
    alone.split_dimension = -1;
    alone.blocks.clear();
    for (unsigned reduction = 0; reduction < static_cast<unsigned>(kernels::TileReduction::kCount);
         ++reduction) {
      for (const std::uint32_t tiles : {1U, 5U, 7U, 24U, 96U}) {
        const CaptureRequest capture_request = tile_capture_request(
            static_cast<kernels::TileReduction>(reduction), tiles);
        const std::vector<double> expected = view_by(capture_request, alone, false);
        for (const bool column_major : {false, true}) {
          const std::vector<double> found = view_by(capture_request, shape, column_major);
          ASSERT_EQ(found.size(), expected.size());
          for (std::size_t i = 0; i < found.size(); ++i) {
            if (std::isnan(expected[i]))
              EXPECT_TRUE(std::isnan(found[i]));
            else
              EXPECT_NEAR(found[i], expected[i], 2e-5)
                  << "reduction " << reduction << ", " << tiles << " tiles, cell " << i;
          }
        }
      }
    }
    CaptureRequest as_it_is = tile_capture_request(kernels::TileReduction::kMean, 1);
    as_it_is.kind = CaptureRequestKind::kWhole;
    const std::vector<float> whole = whole_of(shape);
    const std::vector<double> found = view_by(as_it_is, shape, true);
    ASSERT_EQ(found.size(), whole.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], whole[i]);
  }
}

TEST(View, SaysWhyThereIsNone) {
  const CaptureRequest capture_request = tile_capture_request(kernels::TileReduction::kMean, 4);
  std::string problem;
  const RankTensor split = tensor_of({6, 24, 1, 2, {}}, 0, false);
  EXPECT_FALSE(
      spread_of(split.view, tensors::Layout::of({{"pp", 0, 2}}, 0, 2), problem).has_value());
  EXPECT_THAT(problem, testing::HasSubstr("'tp', a group that was not annotated"));
  RankTensor blocks = tensor_of({6, 24, 1, 2, {}}, 0, false);
  blocks.view.block_count = 2;
  blocks.view.blocks = {4, 1};
  EXPECT_FALSE(spread_of(blocks.view, layout_of(0, 2), problem).has_value());
  EXPECT_THAT(problem, testing::HasSubstr("do not divide"));
  blocks.view.blocks = {0, 0};
  EXPECT_FALSE(spread_of(blocks.view, layout_of(0, 2), problem).has_value());
  CaptureRequest as_it_is = capture_request;
  as_it_is.kind = CaptureRequestKind::kWhole;
  const RankTensor large = tensor_of({400, 200, -1, 1, {}}, 0, false);
  EXPECT_FALSE(
      make_part(as_it_is, large.view, *spread_of(large.view, layout_of(0, 1), problem), problem)
          .has_value());
  EXPECT_THAT(problem, testing::HasSubstr("80000 elements"));
}

TEST(View, OfCopiesIsReportedOnce) {
  std::string problem;
  const RankTensor tensor = tensor_of({2, 4, -1, 1, {}}, 0, false);
  const auto at = [&](std::int32_t tp, std::int32_t dp, std::int32_t pp, TensorKind kind) {
    TensorView view = tensor.view;
    view.shape.kind = kind;
    return *spread_of(
        view, tensors::Layout::of({{"tp", tp, 2}, {"dp", dp, 2}, {"pp", pp, 2}}, 0, 8), problem);
  };
  EXPECT_TRUE(at(0, 0, 0, TensorKind::kWeight).is_first_copy);
  EXPECT_FALSE(at(1, 0, 0, TensorKind::kWeight).is_first_copy);
  EXPECT_FALSE(at(0, 1, 0, TensorKind::kWeight).is_first_copy) << "replicas have the same weights";
  EXPECT_TRUE(at(0, 1, 0, TensorKind::kActvOut).is_first_copy) << "and data of their own";
  EXPECT_TRUE(at(0, 0, 1, TensorKind::kWeight).is_first_copy) << "another stage has other layers";
  EXPECT_EQ(at(0, 0, 1, TensorKind::kWeight).copy, 1U);
}

/// Squares of 1e25 are no float32, and those of 1e-30 are 0.
TEST(View, NormsOfVeryLargeAndVerySmallElementsAreThose) {
  std::string problem;
  for (const double size : {1e25, 1e-30}) {
    RankTensor tensor = tensor_of({1, 8, -1, 1, {}}, 0, false);
    for (std::size_t i = 0; i < 8; ++i)
      tensor.elements[i] = static_cast<float>(i % 2 == 0 ? size : -size);
    tensor.view.data = tensor.elements.data();
    for (const auto reduction : {kernels::TileReduction::kNorm, kernels::TileReduction::kRms,
                                 kernels::TileReduction::kStd}) {
      const CaptureRequest capture_request = tile_capture_request(reduction, 2);
      const auto part = make_part(capture_request, tensor.view,
                                  *spread_of(tensor.view, layout_of(0, 1), problem), problem);
      const double expected = reduction == kernels::TileReduction::kNorm  ? 2.0
                              : reduction == kernels::TileReduction::kRms ? 1.0
                                                                          : std::sqrt(4.0 / 3.0);
      for (const double found : joined(capture_request, {*part}))
        EXPECT_NEAR(found / size, expected, 1e-6);
    }
  }
}

TEST(View, OfEmptyTensorsAndSingleNumbers) {
  const CaptureRequest capture_request = tile_capture_request(kernels::TileReduction::kSum, 4);
  std::string problem;
  TensorView number;
  const double value = 2.5;
  number.name = "n";
  number.shape.type = ElementType::kFloat64;
  number.data = &value;
  const auto part = make_part(capture_request, number, *spread_of(number, layout_of(0, 1), problem),
                              problem);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->elements, std::vector<float>{2.5F});
  TensorView empty = number;
  empty.data = nullptr;
  empty.shape.dimension_count = 2;
  empty.shape.extents = {3, 0};
  const auto none = make_part(capture_request, empty, *spread_of(empty, layout_of(0, 1), problem),
                              problem);
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(none->elements.empty());
}

}  // namespace
}  // namespace megascope::capture
