#include "plugin/steps/step_block.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

namespace megascope::steps {
namespace {

using Block = std::vector<std::byte>;

TensorSlot slot(std::uint64_t key, std::uint32_t owner, double value, std::uint32_t origin = 0) {
  TensorSlot made;
  made.key = key;
  made.origin = origin;
  made.owner = owner;
  made.parts = 1;
  made.wanted_parts = 2;
  made.is_counted = 1;
  made.statistics = {
      .count = 1, .min = value, .max = value, .sum = value, .sum_of_squares = value * value};
  return made;
}

Block block_of(std::uint32_t slots, const std::vector<TensorSlot>& tensors,
               StepHeader header = {}) {
  header.slots = slots;
  Block block(bytes_of_block(slots) + 1);
  write_block(header, tensors, std::span(block).subspan(1));  // at an odd address
  return block;
}
const std::byte* start(const Block& block) { return block.data() + 1; }
std::byte* start(Block& block) { return block.data() + 1; }
std::span<const std::byte> span(const Block& block) { return std::span(block).subspan(1); }

std::vector<std::uint64_t> keys(const Block& block) {
  std::vector<std::uint64_t> found;
  for (std::uint32_t i = 0; i < header_of(span(block)).used; ++i)
    found.push_back(slot_of(span(block), i).key);
  return found;
}

TEST(StepBlock, MergesWhatBothHaveAndKeepsWhatOneHas) {
  Block mine = block_of(64, {slot(2, 1, 3.0), slot(5, 1, 1.0)});
  const Block theirs = block_of(64, {slot(1, 0, 2.0), slot(5, 0, -4.0), slot(9, 0, 7.0)});
  merge_blocks(start(theirs), start(mine));
  EXPECT_THAT(keys(mine), testing::ElementsAre(1, 2, 5, 9));
  const TensorSlot both = slot_of(span(mine), 2);
  EXPECT_EQ(both.owner, 0U);
  EXPECT_EQ(both.parts, 2U);
  EXPECT_EQ(both.statistics.count, 2U);
  EXPECT_EQ(both.statistics.min, -4.0);
  EXPECT_EQ(both.statistics.max, 1.0);
  EXPECT_EQ(both.statistics.sum, -3.0);
  EXPECT_EQ(both.statistics.sum_of_squares, 17.0);
}

TEST(StepBlock, WhatOnlyTheLiveViewAskedForIsLeftOutFirstAndCountedApart) {
  std::vector<TensorSlot> counted;
  std::vector<TensorSlot> live;
  for (std::uint64_t key = 1; key <= 40; ++key) {
    live.push_back(slot(key, 0, 1.0));
    live.back().is_counted = 0;
    counted.push_back(slot(1000 + key, 1, 1.0));
  }
  for (const bool is_live_mine : {true, false}) {
    Block mine = block_of(64, is_live_mine ? live : counted);
    merge_blocks(start(block_of(64, is_live_mine ? counted : live)), start(mine));
    const StepHeader header = header_of(span(mine));
    EXPECT_EQ(header.used, 64U);
    EXPECT_EQ(header.dropped, 0U);
    EXPECT_EQ(header.dropped_live, 16U);
    EXPECT_EQ(keys(mine)[0], 1001U);
    EXPECT_EQ(keys(mine)[39], 1040U);
    EXPECT_EQ(keys(mine)[40], 1U);
  }
  std::vector<TensorSlot> both = counted;
  both.insert(both.end(), live.begin(), live.end());
  const Block written = block_of(64, both);
  EXPECT_EQ(header_of(span(written)).dropped, 0U);
  EXPECT_EQ(header_of(span(written)).dropped_live, 16U);
}

TEST(StepBlock, TheLowestRankWithABadElementIsKnown) {
  TensorSlot good = slot(2, 0, 3.0);
  TensorSlot bad = slot(2, 3, 3.0);
  TensorSlot worse = slot(2, 5, 3.0);
  bad.bad_rank = 3;
  worse.bad_rank = 5;
  Block mine = block_of(64, {worse});
  merge_blocks(start(block_of(64, {good})), start(mine));
  merge_blocks(start(block_of(64, {bad})), start(mine));
  EXPECT_EQ(slot_of(span(mine), 0).owner, 0U);
  EXPECT_EQ(slot_of(span(mine), 0).bad_rank, 3U);
}

TEST(StepBlock, OfCopiesTheFirstCounts) {
  Block mine = block_of(64, {slot(2, 5, 3.0, /*origin=*/1)});
  merge_blocks(start(block_of(64, {slot(2, 3, 8.0, /*origin=*/0)})), start(mine));
  merge_blocks(start(block_of(64, {slot(2, 9, 9.0, /*origin=*/2)})), start(mine));
  merge_blocks(start(block_of(64, {slot(2, 7, 1.0, /*origin=*/0)})), start(mine));
  const TensorSlot kept = slot_of(span(mine), 0);
  EXPECT_EQ(kept.owner, 3U);
  EXPECT_EQ(kept.parts, 2U);
  EXPECT_EQ(kept.statistics.sum, 9.0);
}

TEST(StepBlock, MergesHeaders) {
  StepHeader a;
  a.lowest_step = a.highest_step = 4;
  a.flags = kSpoiled;
  a.lowest_layout = a.highest_layout = 21;
  a.place_sum = 5;
  a.longest_step_ns = a.shortest_step_ns = 10;
  StepHeader b;
  b.lowest_step = b.highest_step = 6;
  b.flags = kAbsent;
  b.lowest_layout = b.highest_layout = 20;
  b.place_sum = 7;
  b.longest_step_ns = b.shortest_step_ns = 20;
  b.word = {.is_announced = 1, .slots = 128, .capture_number = 3, .capture_count = 2};
  for (const bool is_other_way : {false, true}) {
    Block mine = block_of(64, {}, is_other_way ? b : a);
    merge_blocks(start(block_of(64, {}, is_other_way ? a : b)), start(mine));
    const StepHeader merged = header_of(span(mine));
    EXPECT_EQ(merged.lowest_step, 4);
    EXPECT_EQ(merged.highest_step, 6);
    EXPECT_EQ(merged.flags, kSpoiled | kAbsent);
    EXPECT_EQ(merged.lowest_layout, 20U);
    EXPECT_EQ(merged.highest_layout, 21U);
    EXPECT_EQ(merged.place_sum, 12U);
    EXPECT_EQ(merged.longest_step_ns, 20U);
    EXPECT_EQ(merged.shortest_step_ns, 10U);
    EXPECT_EQ(merged.word.slots, 128U);
    EXPECT_EQ(merged.word.capture_number, 3U);
  }
}

TEST(StepBlock, LeavesOutTheGreatestKeysAndCountsThem) {
  std::vector<TensorSlot> even;
  std::vector<TensorSlot> odd;
  for (std::uint64_t i = 0; i < 50; ++i) {
    even.push_back(slot(2 * i, 0, 1.0));
    odd.push_back(slot(2 * i + 1, 1, 1.0));
  }
  Block mine = block_of(64, even);
  merge_blocks(start(block_of(64, odd)), start(mine));
  std::vector<std::uint64_t> wanted(64);
  for (std::uint64_t i = 0; i < 64; ++i) wanted[i] = i;
  EXPECT_EQ(keys(mine), wanted);
  EXPECT_GE(header_of(span(mine)).dropped, 18U);
  std::vector<TensorSlot> many;
  for (std::uint64_t i = 0; i < 100; ++i) many.push_back(slot(i, 0, 1.0));
  EXPECT_EQ(header_of(span(block_of(64, many))).dropped, 36U);
}

TEST(StepBlock, InAnyOrderTheResultIsThatOfAMap) {
  std::mt19937 engine(7);
  const auto below = [&engine](std::uint32_t most) {
    return static_cast<std::uint32_t>(engine() % most);
  };
  for (int round = 0; round < 50; ++round) {
    constexpr std::uint32_t kRanks = 9;
    std::map<std::uint64_t, TensorSlot> wanted;
    std::vector<Block> blocks;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      std::map<std::uint64_t, TensorSlot> mine;
      const std::uint32_t count = below(70);
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint64_t key = below(120);
        mine[key] = slot(key, rank, static_cast<double>(below(64)), below(2));
      }
      std::vector<TensorSlot> sorted;
      for (const auto& [key, one] : mine) sorted.push_back(one);
      blocks.push_back(block_of(64, sorted));
      sorted.resize(std::min<std::size_t>(sorted.size(), 64));
      for (const TensorSlot& one : sorted) {
        const auto [found, is_new] = wanted.try_emplace(one.key);
        TensorSlot& there = found->second;
        if (!is_new && one.origin > there.origin) continue;
        if (is_new || one.origin < there.origin) {
          there = {};
          there.origin = one.origin;
          there.owner = one.owner;
        }
        ++there.parts;
        there.statistics.merge(one.statistics);
      }
    }
    std::shuffle(blocks.begin(), blocks.end(), engine);
    while (blocks.size() > 1) {  // pairs, as a tree of any shape
      const std::size_t from = below(static_cast<std::uint32_t>(blocks.size()) - 1) + 1;
      merge_blocks(start(blocks[from]), start(blocks[0]));
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(from));
    }
    std::size_t index = 0;
    for (const auto& [key, right] : wanted) {
      if (index == 64) break;
      const TensorSlot found = slot_of(span(blocks[0]), static_cast<std::uint32_t>(index++));
      ASSERT_EQ(found.key, key);
      EXPECT_EQ(found.origin, right.origin);
      EXPECT_EQ(found.owner, right.owner);
      EXPECT_EQ(found.parts, right.parts);
      EXPECT_EQ(found.statistics.sum, right.statistics.sum);
      EXPECT_EQ(found.statistics.sum_of_squares, right.statistics.sum_of_squares);
    }
    EXPECT_EQ(header_of(span(blocks[0])).used, index);
  }
}

TEST(StepBlock, PassesOverABlockThatIsNone) {
  Block mine = block_of(64, {slot(2, 1, 3.0)});
  const Block before = mine;
  StepHeader damaged;
  damaged.slots = 64;
  damaged.used = 65;
  Block theirs(bytes_of_block(64) + 1);
  std::memcpy(start(theirs), &damaged, sizeof damaged);
  merge_blocks(start(theirs), start(mine));
  merge_blocks(start(block_of(128, {slot(1, 0, 1.0)})), start(mine));
  EXPECT_EQ(mine, before);
}

}  // namespace
}  // namespace megascope::steps
