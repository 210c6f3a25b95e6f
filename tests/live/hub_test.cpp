#include "plugin/live/hub/hub.h"

#include "hub_scene.h"
#include "plugin/live/http/answers.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

namespace megascope::live {
namespace {

using nlohmann::json;
using test::FrameView;
using Scene = test::HubScene;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(LiveHub, AFrameTakesACreditAndTheFirstTwoAreGiven) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "hidden"}});
  int frames = 0;
  for (std::int64_t step = 0; step < 5; ++step) {
    scene.step(step);
    while (scene.frame()) ++frames;
  }
  EXPECT_EQ(frames, 2);
  scene.say({{"type", "credit"}, {"panel", "t"}, {"frames", 64}});
  scene.say({{"type", "credit"}, {"panel", "t"}, {"frames", 64}});
  std::vector<FrameView> late;
  while (std::optional<FrameView> one = scene.frame()) late.push_back(*one);
  ASSERT_EQ(late.size(), 2U) << "of each layer the newest";
  for (const FrameView& one : late) {
    EXPECT_EQ(one.metadata["step"], 4);
    EXPECT_EQ(one.flags, &one == late.data() ? 1 : 0) << "said once";
  }
  EXPECT_EQ(late[0].metadata["dropped"], 6) << "steps 1, 2 and 3 of two layers";
}

TEST(LiveHub, ClientsWithoutCreditCostNothingButTheNewest) {
  Scene scene;
  scene.say({{"type", "subscribe"},
             {"panel", "t"},
             {"what", "tensor"},
             {"name", "*"},
             {"encoding", "f32"}});
  scene.texts();
  for (std::int64_t step = 0; step < 4; ++step) scene.step(step);
  const std::size_t bytes = scene.hub.store().cache.bytes();
  for (std::int64_t step = 4; step < 50; ++step) scene.step(step);
  EXPECT_EQ(scene.hub.store().cache.bytes(), bytes);
}

TEST(LiveHub, TimesOfStepsAreThoseOfTheRanks) {
  Scene scene;
  for (std::int64_t step = 0; step < 3; ++step) scene.step(step);
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}, {"since", 1}});
  const FrameView frame = scene.frame().value();
  EXPECT_EQ(frame.kind, 1);
  EXPECT_EQ(frame.metadata["steps"], 2);
  EXPECT_THAT(frame.metadata["columns"], ElementsAre("step_ms", "mpi_ms", "own_ms"));
  EXPECT_EQ(frame.at<std::int64_t>(0), 1);
  EXPECT_EQ(frame.at<std::int64_t>(8), 2);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    const steps::RankTimes expected = test::SyntheticRun::times(2, rank);
    const std::size_t cell = 32 + (4 + static_cast<std::size_t>(rank)) *
                                      4;  // behind two steps and their beginnings, the second row
    EXPECT_EQ(frame.at<float>(cell), expected.step_ms);
    EXPECT_EQ(frame.at<float>(cell + 32), expected.mpi_ms);
    EXPECT_EQ(frame.at<float>(cell + 64), expected.own_ms);
  }
  EXPECT_EQ(frame.payload.size(), 2 * 16 + 3 * 2 * 4 * 4U);
}

TEST(LiveHub, CaptureRequestsAreMergedAndGoWithTheLastThatHasThem) {
  Scene scene;
  const json subscribe{
      {"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "hidden"}};
  std::vector<std::byte> bytes;
  scene.say(subscribe);
  ASSERT_TRUE(scene.hub.take_changed_capture_requests(bytes));
  EXPECT_EQ(capture::unpack_capture_requests(bytes).size(), 1U);
  const Hub::ClientId other = scene.hub.connect(0).value();
  ASSERT_TRUE(scene.hub.receive(other, subscribe.dump(), kSecond));
  EXPECT_FALSE(scene.hub.take_changed_capture_requests(bytes)) << "the same";
  scene.say(subscribe);
  EXPECT_FALSE(scene.hub.take_changed_capture_requests(bytes)) << "again the same";
  scene.hub.disconnect(scene.client);
  EXPECT_FALSE(scene.hub.take_changed_capture_requests(bytes)) << "the other still wants it";
  scene.hub.disconnect(other);
  ASSERT_TRUE(scene.hub.take_changed_capture_requests(bytes));
  EXPECT_TRUE(capture::unpack_capture_requests(bytes).empty());
}

TEST(LiveHub, WhatWasBeforeTheFirstStepIsNone) {
  Scene scene;
  scene.hub.take_block(scene.run.block(-1, kSecond, {}));
  for (std::int64_t step = 0; step < 3; ++step) scene.step(step);
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  EXPECT_EQ(scene.frame().value().at<std::int64_t>(0), 0);
  scene.hub.end(false, kSecond);
  EXPECT_EQ(scene.texts().back()["steps"], 3);
}

TEST(LiveHub, AtTheEndRowsAndTheEndComeBeforeViews) {
  for (const std::int64_t later_ns : {0L, kSecond}) {
    Scene scene;
    scene.say({{"type", "subscribe"},
               {"panel", "a view"},
               {"what", "tensor"},
               {"name", "*"},
               {"kind", "actv_out"},
               {"view", {{"type", "tile"}, {"tiles", 4}}}});
    scene.say({{"type", "subscribe"}, {"panel", "steps"}, {"what", "steps"}});
    for (const char* subscription : {"a view", "steps"})
      scene.say({{"type", "credit"}, {"panel", subscription}, {"frames", 64}});
    for (std::int64_t step = 0; step < 3; ++step) scene.step(step);
    scene.hub.end(false, scene.now_ns);
    scene.now_ns += later_ns;
    std::vector<std::string> order;
    Outgoing message;
    while (scene.hub.next(scene.client, scene.now_ns, message)) {
      if (!message.is_text)
        order.push_back(FrameView(message.frame).metadata["panel"]);
      else if (json::parse(message.text)["type"] == "end")
        order.push_back("end");
    }
    ASSERT_GE(order.size(), 2U);
    EXPECT_EQ(order.front(), "steps");
    EXPECT_EQ(order.back(), "end");
    EXPECT_EQ(std::ranges::count(order, "a view") != 0, later_ns == 0)
        << "there is no time for all views";
  }
}

TEST(LiveHub, AStretchOfTimeThatIsReportedAtOnceIsSplitOverTheRowsThatItCovers) {
  Scene scene;
  const auto report = [&](std::int32_t rank, std::int64_t index, float length_ms) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Interval{
        .index = index, .length_ms = length_ms, .mpi_ms = length_ms / 2, .own_ms = 1.0F});
    scene.hub.take_rank_update(rank, rank_update.take(), kSecond);
  };
  for (std::int32_t rank = 0; rank < 4; ++rank) report(rank, 100, 500);
  for (std::int64_t index = 101; index < 104; ++index) {
    for (std::int32_t rank = 0; rank < 3; ++rank) report(rank, index, 500);
  }
  report(3, 103, 1500);
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  const FrameView frame = scene.frame().value();
  ASSERT_EQ(frame.metadata["steps"], 4);
  for (std::size_t row = 0; row < 4; ++row) {
    const std::size_t cell = 4 * 16 + (row * 4 + 3) * 4;
    EXPECT_EQ(frame.at<float>(cell), 500.0F) << row;
    EXPECT_EQ(frame.at<float>(cell + 4 * 4 * 4), 250.0F) << row;
  }
}

TEST(LiveHub, StretchesOfTimeThatMakeNoSenseDoNoHarm) {
  Scene scene;
  for (const float length_ms : {std::numeric_limits<float>::infinity(), -1e30F, 1e30F,
                                std::numeric_limits<float>::quiet_NaN(), 0.0F}) {
    for (const std::int64_t index : {std::int64_t{0}, std::int64_t{5}, std::int64_t{1} << 40,
                                     std::numeric_limits<std::int64_t>::max(), std::int64_t{-7}}) {
      capture::RankUpdateWriter rank_update;
      rank_update.add(capture::Interval{.index = index, .length_ms = length_ms});
      scene.hub.take_rank_update(2, rank_update.take(), kSecond);
    }
  }
  EXPECT_LT(scene.hub.store().history.steps.end(), 30U);
}

TEST(LiveHub, ProgramsWithoutStepsShowStretchesOfTime) {
  Scene scene;
  for (std::int64_t index = 100; index < 103; ++index) {
    for (std::int32_t rank = 0; rank < (index == 101 ? 3 : 4); ++rank) {  // rank 3 is silent once
      capture::RankUpdateWriter rank_update;
      rank_update.add(capture::Interval{
          .index = index, .length_ms = 500.0F, .mpi_ms = static_cast<float>(rank), .own_ms = 0.5F});
      scene.hub.take_rank_update(rank, rank_update.take(), kSecond);
    }
  }
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  const FrameView frame = scene.frame().value();
  EXPECT_EQ(frame.metadata["interval_ms"], 500);
  EXPECT_EQ(frame.metadata["steps"], 1) << "the second is waited for, 2 s at most";
  EXPECT_EQ(frame.at<std::int64_t>(0), 0);
  EXPECT_EQ(frame.at<float>(16 + 16 + 2 * 4), 2.0F);
}

TEST(LiveHub, RanksReportWhoTheyAreInAnyOrder) {
  Scene scene;
  for (const std::int32_t rank : {2, 0, 3}) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::RankFacts{
        .pid = 100 + rank, .host = "node" + std::to_string(rank / 2), .place = {}});
    scene.hub.take_rank_update(rank, rank_update.take(), kSecond);
  }
  capture::RankUpdateWriter later;
  later.add(capture::RankFacts{.pid = 102, .host = "node1", .place = "tp 2"});
  scene.hub.take_rank_update(2, later.take(), kSecond);
  const json ranks = json::parse(answer_to("/api/v1/ranks", scene.hub).body);
  EXPECT_EQ(
      ranks,
      json::parse(
          R"([{"rank":0,"host":"node0","pid":100,"place":""},{"rank":2,"host":"node1","pid":102,"place":"tp 2"},
                                   {"rank":3,"host":"node1","pid":103,"place":""}])"));
  EXPECT_THAT(json::parse(answer_to("/api/v1/run", scene.hub).body)["hosts"],
              ElementsAre("node0", "node1"));
}

TEST(LiveHub, DamagedRankUpdatesAndBlocksAreCountedOrIgnored) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "*"}});
  scene.step(0);
  std::vector<std::byte> rank_update = scene.run.rank_update(0, 1, kSecond, scene.capture_requests,
                                                             true);
  std::vector<std::byte> block = scene.run.block(1, kSecond, scene.capture_requests);
  const std::size_t before = scene.hub.store().history.steps.end();
  for (std::size_t length = 0; length < rank_update.size(); length += 97)
    scene.hub.take_rank_update(0, std::span(rank_update).first(length), kSecond);
  for (std::size_t length = 0; length < block.size(); length += 997)
    scene.hub.take_block(std::span(block).first(length));
  EXPECT_EQ(scene.hub.store().history.steps.end(), before);
  EXPECT_THAT(metrics_text(scene.hub),
              HasSubstr("megascope_live_dropped_total{reason=\"damaged rank updates\"}"));
}

TEST(LiveHub, TextsForAClientThatDoesNotReadAreBounded) {
  Scene scene;
  scene.say({{"type", "subscribe"}, {"panel", "t"}, {"what", "tensor"}, {"name", "hidden"}});
  scene.step(0);
  for (int i = 0; i < 10'000; ++i) {
    capture::RankUpdateWriter rank_update;
    rank_update.add(capture::Notice{scene.capture_requests.at(0).id,
                                    std::string(400, 'x') + std::to_string(i)});
    scene.hub.take_rank_update(1, rank_update.take(), kSecond);
  }
  EXPECT_LT(scene.texts().size(), 100U);
}

TEST(LiveHub, WhatACounterWasBeforeIsInItsCurveAndNotItsLastValue) {
  Scene scene;
  scene.say({{"type", "subscribe"},
             {"panel", "c"},
             {"what", "counters"},
             {"names", {"temperature"}},
             {"since", 4}});
  const auto write = [&](const auto&... items) {
    capture::RankUpdateWriter rank_update;
    (rank_update.add(items), ...);
    scene.hub.take_rank_update(0, rank_update.take(), scene.now_ns);
  };
  const auto past = [](std::int64_t step, double value) {
    return capture::PastReadings{{.step = step, .ids = {9}, .values = {value}}};
  };
  write(capture::CounterName{.id = 9, .name = "temperature", .unit = "K"}, past(3, 1.0));
  EXPECT_THAT(metrics_text(scene.hub),
              HasSubstr("megascope_counter{name=\"temperature\",rank=\"0\",unit=\"K\"} 1\n"))
      << "there is no newer one";
  write(capture::CounterReadings{.step = 100, .ids = {9}, .values = {5.0}});
  write(past(4, 2.0), past(5, 3.0));
  EXPECT_THAT(metrics_text(scene.hub),
              HasSubstr("megascope_counter{name=\"temperature\",rank=\"0\",unit=\"K\"} 5\n"));
  const FrameView frame = scene.frame().value();
  ASSERT_EQ(frame.metadata["steps"], 3) << "from `since` on";
  EXPECT_EQ(frame.at<std::int64_t>(0), 4);
  EXPECT_EQ(frame.at<std::int64_t>(16), 100);
  EXPECT_EQ(frame.at<double>(32), 2.0) << "behind three steps and an id, rounded up";
  EXPECT_EQ(frame.at<double>(48), 5.0);
}

TEST(LiveHub, OldStepsAreForgotten) {
  Scene scene;
  for (std::int64_t step = 0; step < 11'000; ++step) {
    steps::StepHeader header;
    header.slots = steps::kMinSlots;
    header.lowest_step = header.highest_step = step;
    std::vector<std::byte> block(steps::bytes_of_block(header.slots));
    steps::write_block(header, {}, block);
    scene.hub.take_block(block);
  }
  EXPECT_EQ(scene.hub.store().history.steps.first(), 1000U);
  scene.say({{"type", "subscribe"}, {"panel", "s"}, {"what", "steps"}});
  EXPECT_EQ(scene.frame().value().at<std::int64_t>(0), 1000);
}

}  // namespace
}  // namespace megascope::live
