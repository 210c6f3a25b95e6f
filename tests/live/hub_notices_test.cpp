#include "hub_scene.h"
#include "plugin/live/hub/hub.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

/// What clients are told beside data: notices, dropped data by reason, alerts.
namespace megascope::live {
namespace {

using nlohmann::json;
using test::FrameView;
using Scene = test::HubScene;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(LiveHub, NoticesGoToTheSubscriptionThatAsked) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "hidden"}});
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  scene.step(0);
  capture::RankUpdateWriter rank_update;
  rank_update.add(capture::Notice{scene.capture_requests.at(0).id, "hidden is on a device"});
  scene.hub.take_rank_update(1, rank_update.take(), kSecond);
  std::vector<json> notices;
  for (const json& text : scene.texts()) {
    if (text["type"] == "notice") notices.push_back(text);
  }
  EXPECT_THAT(notices, ElementsAre(json{
                           {"type", "notice"}, {"panel", "t"}, {"text", "hidden is on a device"}}));
}

std::vector<json> notices_in(const std::vector<json>& texts) {
  std::vector<json> notices;
  std::ranges::copy_if(texts, std::back_inserter(notices),
                       [](const json& text) { return text["type"] == "notice"; });
  return notices;
}

TEST(LiveHub, ANoticeIsReportedOnceToEachSubscriptionAlsoToOneThatComesLater) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "hidden"}});
  scene.step(0);
  const auto notice = [&] {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Notice{scene.capture_requests.at(0).id, "hidden is on a device"});
    scene.hub.take_rank_update(1, rank_update.take(), kSecond);
  };
  for (int i = 0; i < 3; ++i) notice();  // as with each change of requests
  EXPECT_EQ(notices_in(scene.texts()).size(), 1U);
  scene.say({{"type", "subscribe"}, {"panel", "u"}, {"what", "tensor"}, {"name", "hidden"}});
  notice();
  EXPECT_THAT(
      notices_in(scene.texts()),
      ElementsAre(json{{"type", "notice"}, {"panel", "u"}, {"text", "hidden is on a device"}}));
}

TEST(LiveHub, NoticesCloseNoClient) {
  Scene scene;
  for (int i = 0; i < 16; ++i)
    scene.say({{"type", "subscribe"},
               {"panel", std::to_string(i)},
               {"what", "tensor"},
               {"name", "hidden"},
               {"view", {{"type", "tile"}, {"tiles", 1 + i}}}});
  scene.step(0);
  for (const capture::CaptureRequest& capture_request : scene.capture_requests) {
    for (int i = 0; i < 64; ++i) {
      capture::RankUpdateWriter rank_update;
      rank_update.add(
          capture::Notice{capture_request.id, std::string(450, 'x') + std::to_string(i)});
      scene.hub.take_rank_update(1, rank_update.take(), kSecond);
    }
  }
  scene.say({{"type", "ping"}});
  EXPECT_EQ(scene.texts().back()["type"], "drops") << "of what had no space";
}

TEST(LiveHub, PartsThatDoNotFitAreCountedAndReported) {
  Scene scene;
  scene.say({{"type", "subscribe"},
             {"panel", "t"},
             {"what", "tensor"},
             {"name", "mlp/fc1"},
             {"layers", {0, 0}},
             {"view", {{"type", "whole"}}}});
  scene.step(0);
  scene.texts();
  const test::SyntheticRun wider({.ranks = 4, .layers = 2, .tokens = 8, .width = 102});
  const std::vector<capture::CaptureRequest> capture_requests = scene.capture_requests;
  scene.hub.take_rank_update(0, scene.run.rank_update(0, 1, kSecond, capture_requests, false),
                             kSecond);
  scene.hub.take_rank_update(1, wider.rank_update(1, 1, kSecond, capture_requests, false), kSecond);
  scene.hub.take_rank_update(0, scene.run.rank_update(0, 1, kSecond, capture_requests, false),
                             kSecond);
  scene.hub.take_rank_update(0, scene.run.rank_update(0, 0, kSecond, capture_requests, false),
                             kSecond);
  const std::vector<json> notices = notices_in(scene.texts());
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_THAT(notices[0]["text"].get<std::string>(),
              HasSubstr("mlp/fc1 has parts with inconsistent shapes"));
  EXPECT_EQ(scene.hub.drops().at("view parts with inconsistent shapes"), 1U);
  EXPECT_EQ(scene.hub.drops().at("view parts that a rank sent twice in one step"), 1U);
  EXPECT_EQ(scene.hub.drops().at("view parts that arrived too late"), 1U);
}

TEST(LiveHub, EachReasonOfDropsHasItsTurn) {
  Scene scene;
  std::set<std::string> reasons;
  for (int second = 0; second < 3; ++second) {
    scene.now_ns += 2 * kSecond;
    for (const char* reason : {"a", "b", "c"})
      scene.hub.count_drop(reason, 1);  // all of them grow all the time
    for (const json& text : scene.texts()) {
      if (text["type"] == "drops") reasons.insert(text["reason"]);
    }
  }
  EXPECT_THAT(reasons, ElementsAre("a", "b", "c"));
}

TEST(LiveHub, AnAlertNamesTheLowestRankThatHasIt) {
  for (const std::uint32_t rank : {3U, 1U}) {
    Scene scene;
    steps::TensorSlot slot{
        .key = 7, .owner = 3, .parts = 2, .wanted_parts = 2, .bad_rank = rank, .statistics = {}};
    const float bad = std::numeric_limits<float>::quiet_NaN();
    const std::array<std::uint64_t, 1> extents{1};
    const std::array<std::int64_t, 1> strides{1};
    slot.statistics.merge(kernels::statistics_of(&bad, ElementType::kFloat32, extents, strides));
    steps::StepHeader header;
    header.slots = steps::kMinSlots;
    header.lowest_step = header.highest_step = 0;
    header.lowest_layout = header.highest_layout = 1;
    std::vector<std::byte> block(steps::bytes_of_block(header.slots));
    steps::write_block(header, {&slot, 1}, block);
    scene.hub.take_block(block);
    const std::vector<json> texts = scene.texts();
    const auto alert = std::ranges::find_if(
        texts, [](const json& text) { return text["type"] == "alert"; });
    ASSERT_NE(alert, texts.end());
    EXPECT_EQ((*alert)["ranks"], json{rank});
  }
}

TEST(LiveHub, ACounterThatIsNoNumberIsAnAlertOnce) {
  Scene scene;
  const auto set = [&](std::int64_t step, double value) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::CounterName{.id = 9, .name = "loss", .unit = "nat"});
    rank_update.add(capture::CounterReadings{.step = step, .ids = {9}, .values = {value}});
    scene.hub.take_rank_update(2, rank_update.take(), scene.now_ns);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [step, value] : std::vector<std::pair<std::int64_t, double>>{
           {1, 0.5}, {2, nan}, {3, nan}, {4, 0.25}, {5, std::numeric_limits<double>::infinity()}})
    set(step, value);
  std::vector<std::string> alerts;
  for (const json& text : scene.texts()) {
    if (text["type"] == "alert")
      alerts.push_back(std::to_string(text["step"].get<int>()) + " of rank " +
                       text["ranks"][0].dump() + ": " + text["text"].get<std::string>());
  }
  EXPECT_THAT(alerts, ElementsAre("2 of rank 2: loss is not a number (NaN)",
                                  "5 of rank 2: loss is infinite"));
}

}  // namespace
}  // namespace megascope::live
