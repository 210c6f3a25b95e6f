#include "analysis/import/mend.h"

#include "analysis/import/chrome_timeline.h"

#include <gmock/gmock.h>

#include <sstream>

/// Each rule by which a timeline is mended, with times by hand.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Timeline mended(const std::string& events) {
  std::istringstream from("[" + events + "]");
  Timeline timeline;
  const Status status = read_chrome(from, timeline);
  EXPECT_TRUE(status.is_ok()) << status.message();
  mend(timeline);
  return timeline;
}
std::string whole(const std::string& name, const std::string& begin_us,
                  const std::string& length_us, int step = 1) {
  const std::string length = length_us.empty() ? "" : ",\"dur\":" + length_us;
  return R"({"ph":"X","name":")" + name + R"(","pid":0,"tid":0,"ts":)" + begin_us + length +
         R"(,"args":{"step":)" + std::to_string(step) + "}}";
}
/// Begin and end in µs of each operation, in order.
std::vector<std::pair<double, double>> times_us(const Timeline& timeline) {
  std::vector<std::pair<double, double>> times;
  for (const Operation& operation : timeline.operations)
    times.emplace_back(static_cast<double>(operation.begin_ns) / 1e3,
                       static_cast<double>(operation.end_ns) / 1e3);
  return times;
}
using Times = std::pair<double, double>;

TEST(Mend, ANegativeDurationLosesItsSign) {
  const Timeline timeline = mended(whole("a", "0", "40") + "," + whole("a", "50", "-0.027") + "," +
                                   whole("a", "60", "0.005"));
  EXPECT_THAT(times_us(timeline), ElementsAre(Times(0, 40), Times(50, 50.027), Times(60, 60.005)));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kNegativeDuration), 1u);
  EXPECT_EQ(timeline.repairs.first(RepairKind::kNegativeDuration), "event 1");
}

TEST(Mend, ANegativeDurationThatNoOtherOfItsNameHasIsAMissingOne) {
  EXPECT_THAT(times_us(mended(whole("a", "0", "40") + "," + whole("a", "50", "-0.027") + "," +
                              whole("a", "60", "20"))),
              ElementsAre(Times(0, 40), Times(50, 60), Times(60, 80)));
  const Timeline timeline = mended(whole("a", "0", "10") + "," + whole("a", "50", "-4000") + "," +
                                   whole("a", "100", "30") + "," + whole("a", "200", "20"));
  EXPECT_THAT(times_us(timeline),
              ElementsAre(Times(0, 10), Times(50, 70), Times(100, 130), Times(200, 220)));
}

TEST(Mend, AMissingDurationIsTheUsualUpToTheNextOperation) {
  const std::string usual = whole("a", "0", "40") + "," + whole("a", "100", "60") + "," +
                            whole("a", "200", "50") + ",";
  EXPECT_THAT(times_us(mended(usual + whole("a", "300", ""))),
              ElementsAre(Times(0, 40), Times(100, 160), Times(200, 250), Times(300, 350)));
  EXPECT_THAT(times_us(mended(usual + whole("a", "300", "") + "," + whole("b", "320", "5"))),
              ElementsAre(Times(0, 40), Times(100, 160), Times(200, 250), Times(300, 320),
                          Times(320, 325)));
  EXPECT_THAT(times_us(mended(whole("b", "0", "5") + "," + whole("a", "300", ""))),
              ElementsAre(Times(0, 5), Times(300, 300)));  // no other tells
}

TEST(Mend, WhatEnclosesOthersElsewhereMayEncloseThem) {
  const Timeline timeline = mended(whole("a", "0", "40") + "," + whole("b", "10", "5") + "," +
                                   whole("a", "100", "") + "," + whole("b", "110", "5"));
  EXPECT_THAT(times_us(timeline),
              ElementsAre(Times(0, 40), Times(10, 15), Times(100, 140), Times(110, 115)));
}

std::string edge(const char* phase, const std::string& name, int time_us) {
  return std::string(R"({"ph":")") + phase + R"(",)" +
         (name.empty() ? "" : R"("name":")" + name + R"(",)") +
         R"("pid":0,"tid":0,"args":{"step":4},"ts":)" + std::to_string(time_us) + "}";
}
std::string pair_of(const std::string& name, int begin_us, int end_us) {
  return edge("B", name, begin_us) + "," + edge("E", name, end_us);
}

TEST(Mend, AMissingEndIsEstimatedAndDoesNotShiftOthers) {
  const Timeline timeline = mended(pair_of("a", 0, 10) + "," + edge("B", "a", 20) + "," +
                                   pair_of("b", 40, 50) + "," + pair_of("a", 60, 74) + "," +
                                   pair_of("a", 80, 92));
  EXPECT_THAT(times_us(timeline), ElementsAre(Times(0, 10), Times(20, 32), Times(40, 50),
                                              Times(60, 74), Times(80, 92)));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingEnd), 1u);
  EXPECT_EQ(timeline.repairs.event_count(), 9u);
}

TEST(Mend, AMissingBeginIsEstimatedWhereTheEndHasAName) {
  const Timeline timeline = mended(pair_of("a", 0, 10) + "," + pair_of("b", 20, 25) + "," +
                                   edge("E", "a", 30) + "," + pair_of("a", 60, 70));
  EXPECT_THAT(times_us(timeline),
              ElementsAre(Times(0, 10), Times(20, 25), Times(25, 30), Times(60, 70)));
  EXPECT_EQ(timeline.operations[2].step, 4);
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingBegin), 1u);
  EXPECT_THAT(times_us(mended(edge("E", "", 5) + "," + pair_of("a", 10, 20))),
              ElementsAre(Times(0, 10)));
}

TEST(Mend, AnEndThatFindsTheBeginOfAnotherIsTakenApart) {
  std::string events = edge("B", "a", 0);
  for (int i = 1; i < 100; ++i)
    events += "," + (i == 70 ? edge("E", "a", 10 * i + 5) : pair_of("a", 10 * i, 10 * i + 5));
  const Timeline timeline = mended(events);
  ASSERT_THAT(timeline.operations, SizeIs(100));
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(timeline.operations[i].begin_ns, 10'000 * i);
    EXPECT_EQ(timeline.operations[i].end_ns, 10'000 * i + 5'000);
    EXPECT_EQ(timeline.operations[i].step, 4);
  }
  EXPECT_EQ(timeline.repairs.total(), 2u);
}

TEST(Mend, AFunctionThatCallsItselfStaysWhole) {
  std::string events;
  for (int i = 0; i < 60; ++i) {
    events += (i == 0 ? "" : ",") + edge("B", "a", 1000 * i) + "," +
              pair_of("a", 1000 * i + 10, 1000 * i + 20) + "," +
              pair_of("a", 1000 * i + 30, 1000 * i + 40) + "," + edge("E", "a", 1000 * i + 500);
  }
  const Timeline timeline = mended(events);
  EXPECT_THAT(timeline.operations, SizeIs(180));
  EXPECT_EQ(timeline.repairs.total(), 0u);
}

TEST(Mend, AnEndBeforeItsBeginIsANegativeDuration) {
  const Timeline timeline = mended(edge("B", "a", 10) + "," + edge("E", "a", 7));
  EXPECT_THAT(times_us(timeline), ElementsAre(Times(0, 3)));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kNegativeDuration), 1u);
}

TEST(Mend, DoubledBeginsAndEndsAreTakenOnce) {
  const Timeline timeline = mended(edge("B", "a", 0) + "," + pair_of("a", 0, 10) + "," +
                                   edge("E", "a", 10) + "," + pair_of("b", 20, 30));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kDuplicate), 1u);
  EXPECT_THAT(times_us(timeline), ElementsAre(Times(0, 10), Times(20, 30)));
}

TEST(Mend, PairsThatOverlapInPartKeepTheirEnds) {
  const Timeline timeline = mended(edge("B", "a", 0) + "," + edge("B", "b", 5) + "," +
                                   edge("E", "a", 10) + "," + edge("E", "b", 15));
  EXPECT_THAT(times_us(timeline), ElementsAre(Times(0, 10), Times(5, 15)));
  EXPECT_EQ(timeline.repairs.total(), 0u);
}

std::vector<std::int32_t> steps_of(const std::vector<std::int32_t>& steps) {
  std::string events;
  for (std::size_t i = 0; i < steps.size(); ++i)
    events += (i == 0 ? "" : ",") + whole("a", std::to_string(10 * i), "5", steps[i]);
  std::vector<std::int32_t> mended_steps;
  for (const Operation& operation : mended(events).operations)
    mended_steps.push_back(operation.step);
  return mended_steps;
}

TEST(Mend, AStepThatDoesNotFitIsThatOfItsNeighbours) {
  EXPECT_THAT(steps_of({3, 3, 3, 99, 3, 3, 4, 4, 4, 4, 4}),
              ElementsAre(3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4));
  EXPECT_THAT(steps_of({3, 3, 3, 3, 4, 4, 0, 4, 4, 5, 5}),
              ElementsAre(3, 3, 3, 3, 4, 4, 4, 4, 4, 5, 5));
  EXPECT_THAT(steps_of({1, 2, 3, 4, 50, 6, 7, 8, 9, 10, 11}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(steps_of({50, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}),
              ElementsAre(1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2));
}

TEST(Mend, StepsThatBeginAnewOrCountOtherwiseStayAsTheyAre) {
  EXPECT_THAT(steps_of({30, 31, 32, 0, 1, 2, 3}), ElementsAre(30, 31, 32, 0, 1, 2, 3));
  EXPECT_THAT(steps_of({3, 3, 3, 4, 3, 4, 4, 4}), ElementsAre(3, 3, 3, 4, 3, 4, 4, 4));
  EXPECT_THAT(steps_of({1, 100, 2, 101, 3, 102, 4, 103}),
              ElementsAre(1, 100, 2, 101, 3, 102, 4, 103));
}

TEST(Repairs, MoreThanAHundredthIsRefusedAndOneNeverIs) {
  Repairs repairs;
  for (int i = 0; i < 299; ++i) repairs.add_event();
  EXPECT_TRUE(repairs.check(true).is_ok());
  repairs.add(RepairKind::kNegativeDuration, "event 7");
  repairs.add(RepairKind::kDuplicate, "event 9");
  repairs.add(RepairKind::kOverlap, 150, "on compute");
  EXPECT_TRUE(repairs.check(false).is_ok());
  EXPECT_EQ(
      repairs.check(true).message(),
      "2 of 299 events need repair, and --strict forbids it: 1 operations end before they "
      "begin (first: event 7); 1 operations occur in the file more than once (first: event 9)");
  repairs.add(RepairKind::kDuplicate, "event 11");
  EXPECT_THAT(repairs.check(false).message(),
              HasSubstr("3 of 299 events need repair, more than 1 %"));
  repairs.add_event();
  EXPECT_TRUE(repairs.check(false).is_ok());
  EXPECT_THAT(repairs.notes(), SizeIs(3));
}

TEST(ChromeTimeline, TimesAreExactToTheNanosecondWhereverTheyAre) {
  // Kineto's files of before 2024 count µs since 1970: a double has steps of 0.25 µs there.
  const Timeline timeline = mended(
      R"({"ph":"X","name":"a","pid":0,"tid":0,"ts":700000000000000.001,"dur":0.002},{"ph":"X","name":"b","pid":0,"tid":0,"ts":700000000000000.003,"dur":1.9999})");
  EXPECT_EQ(timeline.operations[0].end_ns, 2u);
  EXPECT_EQ(timeline.operations[1].begin_ns, 2u);
  EXPECT_EQ(timeline.operations[1].end_ns, 2002u);
}

}  // namespace
}  // namespace megascope::importer
