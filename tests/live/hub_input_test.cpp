#include "hub_scene.h"
#include "plugin/live/hub/hub.h"

#include <gmock/gmock.h>

/// What the hub makes of what ranks report.
namespace megascope::live {
namespace {

using nlohmann::json;
using test::FrameView;
using Scene = test::HubScene;

TEST(LiveHub, APollForRequestsIsNoStep) {
  Scene scene;
  const auto mark_idle = [&](std::int64_t step, std::uint32_t idle_ranks) {
    std::vector<std::byte> block = scene.run.block(step, scene.now_ns, {});
    for (std::uint32_t rank = 0; rank < idle_ranks; ++rank) {
      steps::RankTimes times = steps::times_of(steps::tail_of(std::span<const std::byte>(block)),
                                               rank);
      times.is_announced = steps::kReported | steps::kIdle;
      steps::set_times(steps::tail_of(std::span(block)), rank, times);
    }
    scene.hub.take_block(block);
  };
  scene.step(0);
  mark_idle(1, 4);
  mark_idle(2, 4);
  mark_idle(3, 3);  // one rank did something
  EXPECT_EQ(scene.hub.steps(), 2U);
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  EXPECT_EQ(scene.frame().value().metadata["steps"], 2);
}

TEST(LiveHub, ALossThatDivergesIsAlerted) {
  Scene scene;
  capture::RankUpdateWriter rank_update;
  rank_update.add(capture::CounterName{.id = 3, .name = "loss", .unit = ""});
  for (std::int64_t step = 0; step < 60; ++step)
    rank_update.add(
        capture::CounterReadings{.step = step, .ids = {3}, .values = {step < 40 ? 2.0 : 30.0}});
  scene.hub.take_rank_update(1, rank_update.take(), scene.now_ns);
  std::vector<json> alerts;
  for (const json& text : scene.texts()) {
    if (text["type"] == "alert") alerts.push_back(text);
  }
  ASSERT_EQ(alerts.size(), 1U);
  EXPECT_EQ(alerts[0]["step"], 44);
  EXPECT_EQ(alerts[0]["ranks"], json({1}));
  EXPECT_EQ(alerts[0]["text"], "loss diverges: 5 consecutive values above 3.0");
}

TEST(LiveHub, CallsOfMpiComeAsTheNewestState) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "c"}, {"what", "calls"}});
  EXPECT_FALSE(scene.frame().has_value()) << "nothing was reported";
  for (std::int64_t index = 1; index < 4; ++index) {
    capture::RankUpdateWriter rank_update;
    const auto calls = static_cast<std::uint64_t>(10 * index);
    rank_update.add(capture::CallSums{
        .index = index,
        .elapsed_ms = 500,
        .names = "MPI_Send\n",
        .functions = {{.calls = calls, .time_ms = 1, .bytes_sent = 80, .bytes_received = 0}},
        .peers = {{.world_rank = 3, .messages = calls, .bytes = 80}}});
    scene.hub.take_rank_update(2, rank_update.take(), scene.now_ns);
  }
  const FrameView frame = scene.frame().value();
  EXPECT_EQ(frame.kind, 5);
  EXPECT_EQ(frame.metadata["functions"], json({"MPI_Send"}));
  EXPECT_EQ(frame.metadata["cells"], 4);
  EXPECT_FALSE(scene.frame().has_value()) << "older states are not sent";
}

}  // namespace
}  // namespace megascope::live
