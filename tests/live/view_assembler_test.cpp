#include "plugin/live/views/view_assembler.h"

#include "plugin/live/protocol/bounds.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace megascope::live {
namespace {

using capture::ViewPart;
using kernels::TileMethod;
using kernels::TileReduction;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TileMethod kMean{};
constexpr std::int64_t kSecond = 1'000'000'000;

/// Two rows of `count` columns that begin at `start` of 4.
ViewPart part(std::int64_t step, std::uint64_t start, std::uint64_t count,
              std::vector<float> elements) {
  ViewPart made;
  made.capture_request = 1;
  made.key = 7;
  made.step = step;
  made.parts = 2;
  made.realtime_ns = 1000 - static_cast<std::int64_t>(start);
  made.full_shape = made.whole_shape = {2, 4};
  made.shape = {2, count};
  made.split_dimension = 1;
  made.stretches = {{0, start, count}};
  made.elements = std::move(elements);
  return made;
}

struct Joined {
  ViewAssembler assembler;
  std::vector<ViewPointer> whole;
  ViewAssembler::Fate add(std::int32_t rank, ViewPart&& one, const TileMethod& method = kMean,
                          std::int64_t now_ns = kSecond) {
    return assembler.add(rank, std::move(one), method, now_ns, whole);
  }
};

void receive_blocks(ViewAssembler& assembler, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) assembler.receive_block();
}

TEST(LiveViewAssembler, PutsColumnsBesideEachOtherInAnyOrder) {
  Joined joined;
  joined.add(5, part(3, 3, 1, {4, 8}));
  EXPECT_THAT(joined.whole, IsEmpty());
  joined.add(2, part(3, 0, 3, {1, 2, 3, 5, 6, 7}));
  ASSERT_THAT(joined.whole, SizeIs(1));
  const View& view = *joined.whole[0];
  EXPECT_THAT(view.values, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(view.ranks, ElementsAre(2, 5));
  EXPECT_EQ(view.missing, 0U);
  EXPECT_EQ(view.begin_ns, 997) << "of the first that had it";
  EXPECT_EQ(view.end_ns, kSecond);
  EXPECT_EQ(joined.assembler.waiting_bytes(), 0U);
}

TEST(LiveViewAssembler, PutsBlocksOfAFusedTensorWhereTheyBelong) {
  Joined joined;  // Q K V of two ranks, one column each: rank 0 has columns 0 2 4, rank 1 has 1 3 5
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    const auto first = static_cast<std::uint64_t>(rank);
    ViewPart one = part(0, 0, 3, {});
    one.full_shape = one.whole_shape = {1, 6};
    one.shape = {1, 3};
    one.stretches = {{0, first, 1}, {1, 2 + first, 1}, {2, 4 + first, 1}};
    for (std::uint64_t i = 0; i < 3; ++i) one.elements.push_back(static_cast<float>(2 * i + first));
    joined.add(rank, std::move(one));
  }
  ASSERT_THAT(joined.whole, SizeIs(1));
  EXPECT_THAT(joined.whole[0]->values, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(LiveViewAssembler, PutsRowsBelowEachOther) {
  Joined joined;  // sequence parallel: the first dimension is split
  for (std::int32_t rank : {1, 0}) {
    ViewPart one = part(0, 0, 4, {});
    one.split_dimension = 0;
    one.shape = {1, 4};
    one.stretches = {{0, static_cast<std::uint64_t>(rank), 1}};
    one.elements.assign(4, static_cast<float>(rank));
    joined.add(rank, std::move(one));
  }
  EXPECT_THAT(joined.whole.at(0)->values, ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

/// 8 elements in tiles of 3: rank 0 has the first 4, rank 1 the others; tile 1 is of both.
ViewPart tiles(std::int32_t rank, std::uint32_t columns, std::vector<float> elements) {
  ViewPart made = part(0, 0, 2, std::move(elements));
  made.full_shape = {1, 8};
  made.whole_shape = {1, 3};
  made.shape = {1, 2};
  made.columns = columns;
  made.tile_width = 3;
  made.tile_extent = 8;
  made.stretches = {
      {0, static_cast<std::uint64_t>(rank), 2, static_cast<std::uint64_t>(rank) * 4, 4}};
  return made;
}

TEST(LiveViewAssembler, MergesTilesThatTwoRanksShare) {
  Joined mean;  // elements 1 … 8: sums of rank 0: 6 and 4; of rank 1: 11 and 15; in cells their
                // quarters
  mean.add(0, tiles(0, 1, {1.5F, 1}));
  mean.add(1, tiles(1, 1, {2.75F, 3.75F}));
  EXPECT_THAT(mean.whole.at(0)->values, ElementsAre(2, 5, 7.5F));
  Joined greatest;
  const TileMethod max{.reduction = TileReduction::kMax};
  greatest.add(1, tiles(1, 1, {6, 8}), max);
  greatest.add(0, tiles(0, 1, {3, 4}), max);
  EXPECT_THAT(greatest.whole.at(0)->values, ElementsAre(3, 6, 8));
  Joined norm;
  const TileMethod of_squares{.reduction = TileReduction::kNorm};
  norm.add(0, tiles(0, 1, {5, 3e25F}),
           of_squares);  // roots: squares of large elements are no float32
  norm.add(1, tiles(1, 1, {4e25F, 7}), of_squares);
  EXPECT_THAT(norm.whole.at(0)->values, ElementsAre(5, testing::FloatEq(5e25F), 7));
  Joined deviation;  // count, mean and half the root of the sum of squared deviations
  const TileMethod of_sample{.reduction = TileReduction::kStd};
  const float half = std::sqrt(0.5F);
  deviation.add(0, tiles(0, 3, {3, 2, std::sqrt(2.0F) / 2, 1, 4, 0}), of_sample);
  deviation.add(1, tiles(1, 3, {2, 5.5F, half / 2, 2, 7.5F, half / 2}), of_sample);
  EXPECT_THAT(deviation.whole.at(0)->values,
              ElementsAre(testing::FloatEq(1), testing::FloatEq(1), testing::FloatEq(half)));
}

TEST(LiveViewAssembler, TilesMayHaveMoreElementsThanAFloatCanCount) {
  constexpr std::uint64_t kCount = (std::uint64_t{1} << 24) + 1;
  Joined joined;
  ViewPart one = part(
      0, 0, 1,
      {static_cast<float>(kCount), 2, 0.5F});  // a deviation of 1 from 2: 4096 in parts of 2^13
  one.split_dimension = -1;
  one.parts = 1;
  one.full_shape = {1, kCount};
  one.whole_shape = one.shape = {1, 1};
  one.columns = 3;
  one.tile_width = one.tile_extent = kCount;
  one.stretches = {};
  joined.add(0, std::move(one), {.reduction = TileReduction::kStd});
  EXPECT_THAT(joined.whole.at(0)->values, ElementsAre(testing::FloatEq(1)));
}

TEST(LiveViewAssembler, WhatIsMissingIsNotANumberAndCounted) {
  Joined joined;
  joined.add(0, tiles(0, 1, {1.5F, 1}));
  receive_blocks(joined.assembler, ViewAssembler::kTimeoutBlocks);
  joined.assembler.expire(kSecond + ViewAssembler::kTimeoutNs, false, joined.whole);
  EXPECT_THAT(joined.whole, IsEmpty());
  joined.assembler.expire(kSecond + ViewAssembler::kTimeoutNs + 1, false, joined.whole);
  ASSERT_THAT(joined.whole, SizeIs(1));
  const View& view = *joined.whole[0];
  EXPECT_EQ(view.missing, 1U);
  EXPECT_EQ(view.values[0], 2);
  EXPECT_TRUE(std::isnan(view.values[1]))
      << "a tile of which elements are missing is not the mean of the others";
  EXPECT_TRUE(std::isnan(view.values[2]));
  joined.add(1, tiles(1, 1, {2.75F, 3.75F}));
  EXPECT_THAT(joined.whole, SizeIs(1)) << "too late";
  Joined states;
  states.add(1, tiles(1, 3, {2, 5.5F, std::sqrt(0.5F) / 2, 2, 7.5F, std::sqrt(0.5F) / 2}),
             {.reduction = TileReduction::kStd});
  states.assembler.expire(0, true, states.whole);
  EXPECT_TRUE(std::isnan(states.whole.at(0)->values[0]) && std::isnan(states.whole[0]->values[1]));
  EXPECT_FLOAT_EQ(states.whole[0]->values[2], std::sqrt(0.5F));
}

TEST(LiveViewAssembler, ATileThatLacksElementsOfARankInItsMiddleIsNotANumber) {
  Joined joined;  // 8 elements in tiles of 4, of ranks with 2 each; rank 1 has none but the last
                  // two of tile 0
  for (const std::int32_t rank : {0, 2, 3}) {
    ViewPart one = part(0, 0, 1, {2.5F});  // a quarter of 10
    one.parts = 4;
    one.full_shape = {1, 8};
    one.whole_shape = {1, 2};
    one.shape = {1, 1};
    one.tile_width = 4;
    one.tile_extent = 8;
    one.stretches = {
        {0, static_cast<std::uint64_t>(rank / 2), 1, static_cast<std::uint64_t>(rank) * 2, 2}};
    joined.add(rank, std::move(one));
  }
  joined.assembler.expire(0, true, joined.whole);
  EXPECT_TRUE(std::isnan(joined.whole.at(0)->values[0])) << "the mean of half of the tile";
  EXPECT_EQ(joined.whole[0]->values[1], 5);
  EXPECT_EQ(joined.whole[0]->missing, 1U);
}

TEST(LiveViewAssembler, SaysWhatBecameOfAPart) {
  using Fate = ViewAssembler::Fate;
  Joined joined;
  EXPECT_EQ(joined.add(0, part(1, 0, 3, {1, 2, 3, 5, 6, 7})), Fate::kTaken);
  EXPECT_EQ(joined.add(0, part(1, 0, 3, {1, 2, 3, 5, 6, 7})), Fate::kTwice);
  ViewPart unlike = part(1, 4, 1, {4, 8});
  unlike.full_shape = unlike.whole_shape = {2, 5};
  EXPECT_EQ(joined.add(1, std::move(unlike)), Fate::kUnlike);
  EXPECT_EQ(joined.add(1, part(1, 3, 1, {4, 8})), Fate::kTaken);
  EXPECT_THAT(joined.whole, SizeIs(1));
  EXPECT_EQ(joined.add(1, part(1, 3, 1, {4, 8})), Fate::kPast) << "shown twice in a step";
  EXPECT_EQ(joined.add(0, part(0, 0, 3, {1, 2, 3, 5, 6, 7})), Fate::kPast)
      << "a step that goes back";
  ViewPart copy = part(2, 0, 3, {1, 2, 3, 5, 6, 7});
  copy.copy = 1;
  EXPECT_EQ(joined.add(0, std::move(copy)), Fate::kCopy);
}

TEST(LiveViewAssembler, ALaterStepThatIsWholeEndsTheWaitForEarlierOnes) {
  Joined joined;
  joined.add(0, part(1, 0, 3, {1, 2, 3, 5, 6, 7}));
  joined.add(0, part(2, 0, 3, {1, 2, 3, 5, 6, 7}));
  joined.add(1, part(2, 3, 1, {4, 8}));
  ASSERT_THAT(joined.whole, SizeIs(2));
  EXPECT_EQ(joined.whole[0]->step, 1);
  EXPECT_EQ(joined.whole[0]->missing, 1U);
  EXPECT_TRUE(std::isnan(joined.whole[0]->values[3]));
  EXPECT_EQ(joined.whole[1]->missing, 0U);
}

TEST(LiveViewAssembler, TheLowestCopyCounts) {
  Joined joined;
  const auto copy = [](std::uint32_t number, std::int64_t step, float value) {
    ViewPart one = part(step, 0, 4, std::vector<float>(8, value));
    one.split_dimension = -1;
    one.stretches.clear();
    one.parts = 1;
    one.copy = number;
    return one;
  };
  joined.add(2, copy(1, 0, 1));
  joined.add(0, copy(0, 1, 0));
  joined.add(2, copy(1, 2, 1));
  joined.add(0, copy(0, 2, 0));
  ASSERT_THAT(joined.whole, SizeIs(3)) << "copy 1 before copy 0 was heard of, then copy 0 alone";
  EXPECT_THAT(joined.whole[2]->ranks, ElementsAre(0));
}

TEST(LiveViewAssembler, MemoryIsBounded) {
  Joined joined;
  for (std::uint64_t key = 0; key < 200; ++key) {
    ViewPart one = part(0, 0, 1, {1});
    one.key = key;
    one.whole_shape = one.full_shape = {1, std::uint64_t{1} << 18};
    one.shape = {1, 1};
    joined.add(0, std::move(one), kMean, static_cast<std::int64_t>(key));
    ASSERT_LE(joined.assembler.waiting_bytes(), kMaxPartBytes);
  }
  EXPECT_THAT(joined.whole, SizeIs(200 - 64));
  EXPECT_EQ(joined.whole[0]->key, 0U) << "the oldest goes first";
  joined.assembler.forget(1);
  EXPECT_EQ(joined.assembler.waiting_bytes(), 0U);
}

/// Steps of 20 s: the other rank's update waits for the one before it, and both wait for boundaries
/// of both ranks.
TEST(LiveViewAssembler, WaitsForSlowStepsByTheirNumber) {
  constexpr std::uint64_t kLateBlocks = 9;
  Joined joined;
  joined.add(0, part(3, 0, 3, {1, 2, 3, 5, 6, 7}));
  for (std::uint64_t block = 1; block < kLateBlocks; ++block) {
    joined.assembler.receive_block();
    joined.assembler.expire(kSecond + static_cast<std::int64_t>(block) * 20 * kSecond, false,
                            joined.whole);
    ASSERT_THAT(joined.whole, IsEmpty());
  }
  joined.add(1, part(3, 3, 1, {4, 8}));
  ASSERT_THAT(joined.whole, SizeIs(1));
  EXPECT_EQ(joined.whole[0]->missing, 0U);
  joined.add(0, part(4, 0, 3, {1, 2, 3, 5, 6, 7}));
  joined.assembler.expire(kSecond + ViewAssembler::kMaxTimeoutNs, false, joined.whole);
  EXPECT_THAT(joined.whole, SizeIs(1));
  joined.assembler.expire(kSecond + ViewAssembler::kMaxTimeoutNs + 1, false, joined.whole);
  EXPECT_THAT(joined.whole, SizeIs(2)) << "no step begins any more";
}

/// The rank with the lowest copy has stopped, or showed it once only.
TEST(LiveViewAssembler, AnotherCopyIsShownWhereTheLowestComesNoMore) {
  using Fate = ViewAssembler::Fate;
  const auto copy = [](std::uint32_t number, std::int64_t step) {
    ViewPart one = part(step, 0, 4, {1, 2, 3, 4, 5, 6, 7, 8});
    one.split_dimension = -1;
    one.stretches.clear();
    one.copy = number;
    return one;
  };
  Joined joined;
  EXPECT_EQ(joined.add(0, copy(0, 0)), Fate::kTaken);
  for (std::int64_t step = 0; step < 20; ++step)
    EXPECT_EQ(joined.add(2, copy(1, step)), Fate::kCopy)
        << "rank 0's letter is late: it may have as many";
  receive_blocks(joined.assembler, ViewAssembler::kTimeoutBlocks);
  const std::int64_t later_ns = kSecond + ViewAssembler::kTimeoutNs + 1;
  EXPECT_EQ(joined.add(2, copy(1, 20), kMean, later_ns), Fate::kInstead);
  EXPECT_EQ(joined.add(2, copy(1, 21), kMean, later_ns), Fate::kTaken);
  EXPECT_THAT(joined.whole, SizeIs(3));
  EXPECT_EQ(joined.add(0, copy(0, 22), kMean, later_ns), Fate::kTaken) << "the lowest is back";
  EXPECT_EQ(joined.add(2, copy(1, 22), kMean, later_ns), Fate::kCopy);
}

}  // namespace
}  // namespace megascope::live
