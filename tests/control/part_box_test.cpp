#include "plugin/capture/part_box.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

namespace megascope::capture {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr std::size_t kElements = 1000;
constexpr std::uint64_t kLayers = 12;

ViewPart part_of(std::uint64_t key, std::int64_t step, std::size_t elements = kElements) {
  ViewPart part;
  part.capture_request = 1;
  part.key = key;
  part.step = step;
  part.full_shape = part.whole_shape = part.shape = {elements};
  part.elements.assign(elements, 1.0F);
  return part;
}

/// A rank update has space for five of twelve layers.
const std::size_t kSpace = 5 * rank_update_bytes(part_of(0, 0)) + 100;

using Seen = std::set<std::pair<std::uint64_t, std::int64_t>>;

/// Letters that leave every `period` steps.
Seen seen_of(PartBox& box, std::int64_t steps, std::int64_t period) {
  Seen seen;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::uint64_t layer = 0; layer < kLayers; ++layer)
      box.add(part_of(layer * 0x1234567, step));
    if (step % period != 0) continue;
    for (const ViewPart& part : box.take(kSpace)) seen.emplace(part.key, part.step);
  }
  return seen;
}

TEST(PartBox, GivesAllThatFitsInOrderOfSteps) {
  PartBox box(kSpace);
  for (std::int64_t step = 0; step < 4; ++step) box.add(part_of(7, step));
  std::vector<std::int64_t> steps;
  for (const ViewPart& part : box.take(kSpace)) steps.push_back(part.step);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(box.left_out(), 0U);
  EXPECT_THAT(box.take(kSpace), SizeIs(0));
}

TEST(PartBox, KeepsFewerStepsBeforeFewerTensors) {
  PartBox box(kSpace);
  for (std::int64_t step = 1; step < 100; ++step) {
    for (std::uint64_t key = 0; key < 5; ++key) box.add(part_of(key, step));
  }
  std::map<std::uint64_t, std::int64_t> newest;
  for (const ViewPart& part : box.take(kSpace)) newest[part.key] = part.step;
  EXPECT_THAT(newest, SizeIs(5));
  for (const auto& [key, step] : newest) EXPECT_GE(step, 64);
  EXPECT_EQ(box.left_out(), 99U * 5 - 5);
}

TEST(PartBox, EachLayerHasItsTurn) {
  for (const std::int64_t period : {1, 2, 3}) {
    PartBox box(kSpace);
    std::map<std::uint64_t, int> times;
    for (const auto& [key, step] : seen_of(box, 120, period)) ++times[key];
    EXPECT_THAT(times, SizeIs(kLayers)) << period;
    for (const auto& [key, count] : times)
      EXPECT_GE(count, 120 / period / 8) << "period " << period << ", layer " << key / 0x1234567;
  }
}

/// Of views of which two ranks have a part each, which leave at different steps: one part is of no
/// use.
TEST(PartBox, RanksWhoseRankUpdatesLeaveAtDifferentStepsChooseTheSame) {
  PartBox often(kSpace);
  PartBox seldom(kSpace);
  const Seen of_one = seen_of(often, 120, 1);
  const Seen of_other = seen_of(seldom, 120, 3);
  std::map<std::uint64_t, int> both;
  for (const auto& place : of_other) both[place.first] += of_one.contains(place) ? 1 : 0;
  EXPECT_THAT(both, SizeIs(kLayers));
  for (const auto& [key, count] : both) EXPECT_GE(count, 4) << "layer " << key / 0x1234567;
}

TEST(PartBox, KeepsTwiceItsSpaceAtMax) {
  PartBox box(kSpace);
  for (std::uint64_t key = 0; key < 1000; ++key) box.add(part_of(key, 3, 10 + key % 50));
  box.add(part_of(5000, 3, 3 * kSpace / sizeof(float)));
  std::size_t bytes = 0;
  for (const ViewPart& part : box.take(10 * kSpace)) bytes += rank_update_bytes(part);
  EXPECT_LE(bytes, 2 * kSpace);
  EXPECT_GT(bytes, kSpace / 2);
}

}  // namespace
}  // namespace megascope::capture
