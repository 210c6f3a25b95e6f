#include "kernels/tiles.h"

#include "plugin/capture/tile_method.h"

#include <gmock/gmock.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

namespace megascope {
namespace {

using kernels::TileGrid;
using kernels::TileMethod;
using kernels::TileReduction;
using kernels::TileState;

/// By the definition, of all elements of a tile at once.
double expected(const TileMethod& method, std::vector<double> values) {
  if (method.has_abs_before)
    std::ranges::for_each(values, [](double& value) { value = std::abs(value); });
  const auto count = static_cast<double>(values.size());
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  double squares = 0.0;
  double deviations = 0.0;
  for (const double value : values) {
    squares += value * value;
    deviations += (value - sum / count) * (value - sum / count);
  }
  double result = 0.0;
  switch (method.reduction) {
    case TileReduction::kMean:
      result = sum / count;
      break;
    case TileReduction::kMax:
      result = *std::ranges::max_element(values);
      break;
    case TileReduction::kMin:
      result = *std::ranges::min_element(values);
      break;
    case TileReduction::kStd:
      result = std::sqrt(deviations / (count - 1));
      break;
    case TileReduction::kNorm:
      result = std::sqrt(squares);
      break;
    case TileReduction::kSum:
      result = sum;
      break;
    case TileReduction::kRms:
      result = std::sqrt(squares / count);
      break;
    case TileReduction::kCount:
      break;
  }
  return method.has_abs_after ? std::abs(result) : result;
}

TEST(Tiles, AreRaggedAtTheEnd) {
  const TileGrid grid = TileGrid::of(10, 4);
  EXPECT_EQ(grid.width, 3U);
  EXPECT_EQ(grid.count(), 4U);
  EXPECT_EQ(grid.width_of(3), 1U);
  EXPECT_EQ(TileGrid::of(10, 8).count(), 5U) << "no tile is of padding only";
  EXPECT_EQ(TileGrid::of(0, 8).count(), 0U);
  EXPECT_EQ(TileGrid::of(3, 96).count(), 3U);
}

/// For any split of a row over ranks: together they have what one would have had.
TEST(Tiles, OfPartsAreThoseOfTheWhole) {
  std::mt19937 random(7);
  std::normal_distribution<float> element;
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t extent = 1 + random() % 700;
    const TileGrid grid = TileGrid::of(extent, 1 + random() % 100);
    std::vector<float> row(extent);
    for (float& value : row) value = element(random);
    const TileMethod method{
        static_cast<TileReduction>(random() % static_cast<unsigned>(TileReduction::kCount)),
        random() % 2 == 0, random() % 2 == 0};
    std::vector<TileState> whole(grid.count());
    for (std::uint64_t start = 0; start < extent;) {
      const std::uint64_t count = std::min<std::uint64_t>(1 + random() % 300, extent - start);
      const std::uint64_t first = start / grid.width;
      std::vector<TileState> part((start + count - 1) / grid.width - first + 1);
      add_to_tiles(method, grid, ElementType::kFloat32, row.data() + start, 1, start, count, first,
                   part.data());
      for (std::size_t i = 0; i < part.size(); ++i) merge_tiles(method, part[i], whole[first + i]);
      start += count;
    }
    for (std::uint64_t tile = 0; tile < grid.count(); ++tile) {
      const auto* const begin = row.data() + tile * grid.width;
      const double wanted = expected(method,
                                     std::vector<double>(begin, begin + grid.width_of(tile)));
      const double found = finish_tile(method, whole[tile]);
      if (std::isnan(wanted))
        EXPECT_TRUE(std::isnan(found));
      else
        EXPECT_NEAR(found, wanted, 1e-9 * (1 + std::abs(wanted)))
            << capture::name_of(method) << " of tile " << tile << " of " << extent;
    }
  }
}

TEST(Tiles, ReadAnyStrideAndType) {
  const std::vector<std::int16_t> backwards{6, 0, 5, 0, 4, 0, 3, 0, 2, 0, 1, 0};
  const TileGrid grid = TileGrid::of(6, 3);
  std::vector<TileState> states(3);
  add_to_tiles({TileReduction::kSum, false, false}, grid, ElementType::kInt16,
               backwards.data() + 10, -2, 0, 6, 0, states.data());
  EXPECT_EQ(states[0].a, 3);
  EXPECT_EQ(states[1].a, 7);
  EXPECT_EQ(states[2].a, 11);
  const std::vector<std::uint16_t> halves{0x3C00, 0xC000, 0x7E00};  // 1, -2, NaN
  std::vector<TileState> of_halves(3);
  add_to_tiles({TileReduction::kMax, true, false}, TileGrid::of(3, 3), ElementType::kFloat16,
               halves.data(), 1, 0, 3, 0, of_halves.data());
  EXPECT_EQ(of_halves[0].a, 1.0);
  EXPECT_EQ(of_halves[1].a, 2.0);
  EXPECT_TRUE(std::isnan(of_halves[2].a));
}

TEST(Tiles, ShowNaNsAndInfinities) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& row :
       {std::vector<float>{1, nan, 3, 4}, std::vector<float>{nan, 1, 3, 4},
        std::vector<float>{1, 3, 4, nan}}) {
    for (unsigned reduction = 0; reduction < static_cast<unsigned>(TileReduction::kCount);
         ++reduction) {
      const TileMethod method{static_cast<TileReduction>(reduction), false, false};
      TileState first;
      TileState second;
      add_to_tiles(method, TileGrid::of(4, 1), ElementType::kFloat32, row.data(), 1, 0, 2, 0,
                   &first);
      add_to_tiles(method, TileGrid::of(4, 1), ElementType::kFloat32, row.data() + 2, 1, 2, 2, 0,
                   &second);
      merge_tiles(method, second, first);
      EXPECT_TRUE(std::isnan(finish_tile(method, first))) << capture::name_of(method);
    }
  }
  const std::vector<float> large{1, infinity};
  TileState state;
  add_to_tiles({}, TileGrid::of(2, 1), ElementType::kFloat32, large.data(), 1, 0, 2, 0, &state);
  EXPECT_EQ(finish_tile({}, state), infinity);
}

TEST(Tiles, NarrowSumsAreWhatStatesCarryBitForBit) {
  std::mt19937 random(7);
  std::vector<float> floats(2000);
  std::vector<std::uint16_t> halves(floats.size());
  for (std::size_t i = 0; i < floats.size(); ++i) {
    floats[i] = std::sin(static_cast<float>(random())) * 3.0F;
    halves[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(floats[i]) >> 16);
  }
  floats[500] = std::numeric_limits<float>::infinity();
  int compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    const TileGrid grid = TileGrid::of(1 + random() % 700, 1 + random() % 120);
    const bool is_half = random() % 2 == 0;
    const ElementType type = is_half ? ElementType::kBfloat16 : ElementType::kFloat32;
    const TileMethod method{.reduction = random() % 2 == 0 ? TileReduction::kMean
                                                           : TileReduction::kSum};
    if (!kernels::has_narrow_sums(method, grid, type, 1)) continue;
    const std::uint64_t start = random() % grid.extent;
    const std::uint64_t count = 1 + random() % (grid.extent - start);
    const std::uint64_t first = start / grid.width;
    const std::size_t at = random() % 1000;
    const void* const data = is_half ? static_cast<const void*>(&halves[at]) : &floats[at];
    std::vector<TileState> states((start + count - 1) / grid.width - first + 1);
    kernels::add_to_tiles(method, grid, type, data, 1, start, count, first, states.data());
    std::vector<float> expected_cells(states.size() + 1, 7.0F);
    kernels::pack_tiles(method, grid.width, states, 1, expected_cells.data());
    std::vector<float> cells(states.size() + 1, 7.0F);  // one more, which is left alone
    kernels::sum_narrow_tiles(method, grid, type, data, start, count, cells.data());
    ASSERT_EQ(cells, expected_cells)
        << grid.extent << " in tiles of " << grid.width << " from " << start << ", " << count;
    ++compared;
  }
  EXPECT_GT(compared, 5000);
}

/// For any elements, the cells on their way to a mean are no larger than these.
TEST(Tiles, OfTheLargestNumbersFitIntoCellsOfFloats) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const TileReduction reduction :
       {TileReduction::kMean, TileReduction::kRms, TileReduction::kStd}) {
    for (const std::uint64_t width : {1U, 2U, 3U, 7U, 8U, 9U, 300U, 4096U}) {
      for (const float sign : {1.0F, -1.0F}) {
        std::vector<float> row(width, kLargest);
        for (std::size_t i = 1; i < width; i += 2) row[i] *= sign;
        const TileMethod method{.reduction = reduction};
        const TileGrid grid = TileGrid::of(width, 1);
        TileState state;
        kernels::add_to_tiles(method, grid, ElementType::kFloat32, row.data(), 1, 0, width, 0,
                              &state);
        std::array<float, 3> cell{};
        kernels::pack_tiles(method, width, {&state, 1}, 3, cell.data());
        EXPECT_TRUE(std::isfinite(cell[1]) && std::isfinite(cell[2]))
            << capture::name_of(method) << " of " << width;
        const TileState back = kernels::unpacked_tile(
            method, width, {.count = cell[0], .a = cell[1], .b = cell[2]});
        const double wanted = kernels::finish_tile(method, state);
        if (!std::isnan(wanted)) {
          EXPECT_NEAR(kernels::finish_tile(method, back) / kLargest, wanted / kLargest, 1e-6)
              << capture::name_of(method) << " of " << width;
        }
        if (!kernels::has_narrow_sums(method, grid, ElementType::kFloat32, 1)) continue;
        float narrow = 0.0F;
        kernels::sum_narrow_tiles(method, grid, ElementType::kFloat32, row.data(), 0, width,
                                  &narrow);
        EXPECT_EQ(narrow, cell[1]) << width;
      }
    }
  }
}

TEST(Tiles, OnlyShortSumsOfNeighboursHaveTheShorterWay) {
  const TileGrid narrow = TileGrid::of(512, 96);
  EXPECT_TRUE(kernels::has_narrow_sums({TileReduction::kSum}, narrow, ElementType::kFloat32, 1));
  EXPECT_FALSE(kernels::has_narrow_sums({TileReduction::kMax}, narrow, ElementType::kFloat32, 1));
  EXPECT_FALSE(kernels::has_narrow_sums({.reduction = TileReduction::kSum, .has_abs_before = true},
                                        narrow, ElementType::kFloat32, 1));
  EXPECT_FALSE(kernels::has_narrow_sums({}, TileGrid::of(4096, 96), ElementType::kFloat32, 1));
  EXPECT_FALSE(kernels::has_narrow_sums({}, narrow, ElementType::kFloat64, 1));
  EXPECT_FALSE(kernels::has_narrow_sums({}, narrow, ElementType::kFloat32, 2));
}

TEST(TileMethod, IsReadAsUsersOfPyTorchWriteIt) {
  const std::vector<std::pair<std::string, TileMethod>> cases{
      {"mean", {TileReduction::kMean, false, false}},
      {"absmax", {TileReduction::kMax, true, false}},
      {"data.mean(dim=-1)", {TileReduction::kMean, false, false}},
      {" data . mean ( dim = -1 ) ", {TileReduction::kMean, false, false}},
      {"data.mean(-1)", {TileReduction::kMean, false, false}},
      {"data.abs().max(dim=-1).values", {TileReduction::kMax, true, false}},
      {"data.max(dim=-1)[0]", {TileReduction::kMax, false, false}},
      {"data.abs().amax(axis=-1, keepdim=False)", {TileReduction::kMax, true, false}},
      {"data.std(dim=-1).abs()", {TileReduction::kStd, false, true}},
      {"torch.norm(data, dim=-1)", {TileReduction::kNorm, false, false}},
      {"torch.abs(torch.mean(data, dim=-1))", {TileReduction::kMean, false, true}},
      {"data.norm(p=1, dim=-1)", {TileReduction::kSum, true, false}},
      {"(data).sum(dim=-1)", {TileReduction::kSum, false, false}},
      {"torch.max(data, dim=-1).values.abs()", {TileReduction::kMax, false, true}},
  };
  for (const auto& [text, method] : cases) {
    std::string problem;
    const auto read = capture::parse_tile_method(text, problem);
    ASSERT_TRUE(read.has_value()) << text << ": " << problem;
    EXPECT_EQ(*read, method) << text;
  }
}

TEST(TileMethod, RefusesAllElseAndSaysWhere) {
  const std::vector<std::string> hostile{"",
                                         "data",
                                         "__import__('os').system('id')",
                                         "data.__class__",
                                         "data.__class__.mean(dim=-1)",
                                         "data.mean()",
                                         "data.mean(dim=0)",
                                         "data.mean(dim=-1).mean(dim=-1)",
                                         "data.mean(dim=-1).values",
                                         "data.tolist()",
                                         "torch.load('x')",
                                         "eval(data)",
                                         "data.mean(dim=-1);data",
                                         "data.norm(p=3, dim=-1)",
                                         "data.max(dim=-1)[1]",
                                         "data.max(dim=-1).values.values",
                                         "lambda: 0",
                                         "data.mean(dim=-1",
                                         "data..mean(dim=-1)",
                                         "data.mean(dim=-1, keepdim=1)",
                                         "mean(data)",
                                         "rms(data)",
                                         "data.rms(dim=-1)",
                                         std::string("data\0.mean(dim=-1)", 18),
                                         "data.mean(dim=-1)\n",
                                         std::string(100, '('),
                                         std::string(1'000'000, '('),
                                         "((((((((((((((((((((data))))))))))))))))))))"};
  for (const std::string& text : hostile) {
    std::string problem;
    EXPECT_FALSE(capture::parse_tile_method(text, problem).has_value()) << text.substr(0, 60);
    EXPECT_FALSE(problem.empty()) << text.substr(0, 60);
    EXPECT_LT(problem.size(), 200U);
  }
}

}  // namespace
}  // namespace megascope
