#include "hub_scene.h"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>

/// Statistics of tensors whose names come behind their first ones.
namespace megascope::live {
namespace {

using test::FrameView;
using test::HubScene;

/// (id, step) → count, of all frames that come.
std::map<std::pair<std::uint32_t, std::int64_t>, double> counts_in(HubScene& scene) {
  std::map<std::pair<std::uint32_t, std::int64_t>, double> counts;
  while (const std::optional<FrameView> frame = scene.frame()) {
    scene.say({{"type", "credit"}, {"panel", "s"}, {"frames", 1}});
    const std::size_t steps = frame->metadata["steps"];
    const std::size_t ids = frame->metadata["count"];
    const std::size_t values_at = steps * 8 + (ids * 4 + 7) / 8 * 8;
    for (std::size_t i = 0; i < steps * ids; ++i) {
      const auto count = frame->at<double>(values_at + i * 8);
      if (std::isnan(count)) continue;
      const std::pair place(frame->at<std::uint32_t>(steps * 8 + i % ids * 4),
                            frame->at<std::int64_t>(i / ids * 8));
      EXPECT_TRUE(counts.emplace(place, count).second)
          << "twice: tensor " << place.first << " step " << place.second;
    }
  }
  return counts;
}

std::set<std::int64_t> steps_of(
    const std::map<std::pair<std::uint32_t, std::int64_t>, double>& counts, std::uint32_t id) {
  std::set<std::int64_t> steps;
  for (const auto& [place, count] : counts) {
    if (place.first == id) steps.insert(place.second);
  }
  return steps;
}

std::set<std::uint32_t> ids_of(
    const std::map<std::pair<std::uint32_t, std::int64_t>, double>& counts) {
  std::set<std::uint32_t> ids;
  for (const auto& [place, count] : counts) ids.insert(place.first);
  return ids;
}

TEST(LiveLateNames, BringTheStatisticsThatWereIgnored) {
  HubScene scene;
  scene.named_at = {0, 0, 3, 3};  // the second layer's
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "statistics"}, {"names", {"*"}}});
  for (std::int64_t step = 0; step < 3; ++step) scene.step(step);
  const auto early = counts_in(scene);
  for (std::int64_t step = 3; step < 5; ++step) scene.step(step);
  const auto late = counts_in(scene);
  int behind = 0;
  for (const std::uint32_t id : ids_of(late)) {
    const bool was_named = ids_of(early).contains(id);
    behind += was_named ? 0 : 1;
    EXPECT_EQ(steps_of(late, id),
              was_named ? (std::set<std::int64_t>{3, 4}) : (std::set<std::int64_t>{0, 1, 2, 3, 4}))
        << id;
  }
  EXPECT_EQ(behind, 4) << "tensors of a layer";
  EXPECT_EQ(ids_of(early).size(), 4U);
  scene.step(5);
  const auto next = counts_in(scene);
  EXPECT_EQ(next.size(), 8U) << "and go on with the others";
}

TEST(LiveLateNames, OfTensorsThatNoneAskedForBringNothing) {
  HubScene scene;
  scene.named_at = {0, 0, 2, 2};
  scene.say({{"type", "subscribe"},
             {"panel", "s"},
             {"what", "statistics"},
             {"names", {"*"}},
             {"layers", {0, 0}}});
  for (std::int64_t step = 0; step < 4; ++step) scene.step(step);
  const auto counts = counts_in(scene);
  EXPECT_EQ(ids_of(counts).size(), 4U);
  EXPECT_EQ(counts.size(), 16U);
}

TEST(LiveLateNames, ComeOneAfterTheOther) {
  HubScene scene;
  scene.named_at = {1, 1, 6, 6};
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "statistics"}, {"names", {"*"}}});
  std::map<std::pair<std::uint32_t, std::int64_t>, double> counts;
  for (std::int64_t step = 0; step < 8; ++step) {
    scene.step(step);
    for (const auto& entry : counts_in(scene))
      EXPECT_TRUE(counts.insert(entry).second) << "each once";
  }
  EXPECT_EQ(counts.size(), 8U * 8U) << "of each of the 8 tensors all 8 steps";
}

}  // namespace
}  // namespace megascope::live
