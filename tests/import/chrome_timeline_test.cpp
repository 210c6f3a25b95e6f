#include "analysis/import/chrome_timeline.h"

#include "analysis/import/gzip_stream.h"
#include "analysis/import/mend.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstdio>
#include <sstream>

/// Chrome traces of training jobs: what is read, and what is refused with a sentence that names the
/// event.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Timeline read(const std::string& text) {
  std::istringstream from(text);
  Timeline timeline;
  const Status status = read_chrome(from, timeline);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return timeline;
}
std::string refusal(const std::string& text) {
  std::istringstream from(text);
  Timeline timeline;
  const Status status = read_chrome(from, timeline);
  EXPECT_FALSE(status.is_ok());
  return status.message();
}
/// One event, and behind it a whole one.
std::string refusal_of_event(const std::string& event) {
  return refusal(R"([{"ph":"X","name":"ok","pid":0,"tid":0,"ts":1,"dur":1},)" + event + "]");
}

TEST(ChromeTimeline, WholeEventsAreOperationsInNsFromTheFirst) {
  const Timeline timeline = read(
      R"([{"ph":"X","name":"forward","pid":0,"tid":0,"ts":-10.5,"dur":2.25,"args":{"step":3,"mb_id":1,"model_chunk":0,"seq_id":7}},
          {"ph":"X","name":"backward","pid":0,"tid":0,"ts":1.001,"dur":0}])");
  EXPECT_THAT(timeline.operations,
              ElementsAre(Operation{.begin_ns = 0,
                                    .end_ns = 2250,
                                    .name = 0,
                                    .track = 0,
                                    .step = 3,
                                    .micro_batch = 1,
                                    .model_chunk = 0,
                                    .sequence = 7},
                          Operation{.begin_ns = 11501, .end_ns = 11501, .name = 1, .track = 0}));
  EXPECT_THAT(timeline.names, ElementsAre("forward", "backward"));
}

TEST(ChromeTimeline, BeginAndEndNestPerTrack) {
  const Timeline timeline = read(
      R"({"displayTimeUnit":"ns","traceEvents":[
          {"ph":"B","name":"outer","pid":0,"tid":0,"ts":0,"args":{"step":1}},
          {"ph":"B","name":"inner","pid":0,"tid":0,"ts":1},
          {"ph":"B","name":"other","pid":0,"tid":1,"ts":2},
          {"ph":"E","pid":0,"tid":0,"ts":3},
          {"ph":"E","pid":0,"tid":0,"ts":4},
          {"ph":"E","pid":0,"tid":0,"ts":5},
          {"ph":"C","name":"memory","pid":0,"tid":0,"ts":5,"args":{"bytes":4}}],
         "otherData":{"traceEvents":[{"ph":"X"}]}})");
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(
          Operation{.begin_ns = 1000, .end_ns = 3000, .name = 1, .track = 0, .is_pair = true},
          Operation{
              .begin_ns = 0, .end_ns = 4000, .name = 0, .track = 0, .step = 1, .is_pair = true},
          Operation{.begin_ns = 2000,
                    .end_ns = 2000,
                    .name = 2,
                    .track = 1,
                    .is_pair = true}));  // until mend()
  EXPECT_THAT(timeline.notes,
              ElementsAre("1 events are not operations (counters, flows, marks) and were omitted"));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingEnd), 1u);
  EXPECT_EQ(timeline.repairs.first(RepairKind::kMissingEnd), "event 2");
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingBegin),
            1u);  // it has no name: of what is unknown
  EXPECT_EQ(timeline.repairs.first(RepairKind::kMissingBegin), "event 5");
}

TEST(ChromeTimeline, NamesOfTracksBehindTheirEventsReportTheCoordinates) {
  const Timeline timeline = read(
      R"([{"ph":"X","name":"forward","pid":1,"tid":4,"ts":0,"dur":1},
          {"ph":"X","name":"forward","pid":9,"tid":0,"ts":0,"dur":1},
          {"ph":"X","name":"forward","pid":5,"tid":0,"ts":0,"dur":1},
          {"ph":"X","name":"forward","pid":"DP3 PP1","tid":"compute","ts":0,"dur":1},
          {"ph":"M","name":"thread_name","pid":1,"tid":4,"args":{"name":"PP rank 2, TP rank 0, compute"}},
          {"ph":"M","name":"process_name","pid":9,"args":{"name":"DP1-PP0-TP3"}}])");
  ASSERT_THAT(timeline.tracks, SizeIs(4));
  EXPECT_EQ(timeline.tracks[0].coordinates, (GridCoordinates{.dp = 1, .pp = 2, .tp = 0}));
  EXPECT_EQ(timeline.tracks[0].stream, "compute");
  EXPECT_EQ(timeline.tracks[1].coordinates, (GridCoordinates{.dp = 1, .pp = 0, .tp = 3}));
  EXPECT_EQ(timeline.tracks[2].coordinates, (GridCoordinates{.rank = 5}));
  EXPECT_EQ(timeline.tracks[3].coordinates, (GridCoordinates{.dp = 3, .pp = 1}));
}

TEST(ChromeTimeline, CoordinatesAreReadOnlyFromWholeWords) {
  GridCoordinates coordinates;
  EXPECT_EQ(read_coordinates("http 3 upp1", coordinates), "http 3 upp1");
  EXPECT_EQ(coordinates, GridCoordinates{});
  EXPECT_EQ(read_coordinates("pp_rank 12", coordinates), "");
  EXPECT_EQ(coordinates.pp, 12);
  EXPECT_EQ(read_coordinates("dp 99999999999", coordinates),
            "dp 99999999999");  // no number that a rank can be
  EXPECT_EQ(coordinates.dp, kUnknown);
}

TEST(ChromeTimeline, ErrorsNameTheEventAndWhatIsWrong) {
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":"1","dur":1})"),
            "event 1: \"ts\" is missing or not a number");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1e300,"dur":1})"),
            "event 1: \"ts\" is out of range");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":"1"})"),
            "event 1: \"dur\" is not a number");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":[1]})"),
            "event 1: \"dur\" is not a number");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":-1e300})"),
            "event 1: \"dur\" is out of range");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","ts":1,"dur":1})"),
            "event 1: \"name\" is missing or empty");
  EXPECT_EQ(refusal_of_event(R"({"ph":"B","ts":1})"), "event 1: \"name\" is missing or empty");
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"step":"3"}})"),
            "event 1: \"args.step\" is not a number");
  const std::string no_step = "event 1: \"args.step\" is not a whole number from 0 to 2147483647";
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"step":1.9}})"),
            no_step);
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"step":-3}})"),
            no_step);
  EXPECT_EQ(refusal_of_event(R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"step":2147483648}})"),
            no_step);
}

TEST(ChromeTimeline, WhatIsNoJsonIsRefused) {
  EXPECT_THAT(refusal_of_event(R"({"ph":"X","name":"a","ts":NaN,"dur":1})"),
              HasSubstr("invalid JSON after byte"));
  EXPECT_THAT(refusal_of_event(R"({"ph":"X","name":"a","ts":1e999,"dur":1})"),
              HasSubstr("a number is too large after byte"));
  EXPECT_THAT(refusal_of_event(R"({"ph":"X","name":"a)"), HasSubstr("in or after event 1"));
  EXPECT_THAT(refusal(""), HasSubstr("invalid JSON"));
  EXPECT_EQ(refusal("{}"), "it contains no array of events");
  EXPECT_EQ(refusal(R"({"traceEvents":{"ph":"X"}})"), "it contains no array of events");
  EXPECT_THAT(read("[1,null,\"x\",[],{}]").operations, IsEmpty());
}

TEST(ChromeTimeline, TheLastBracketMayMiss) {
  const std::string event = R"({"ph":"X","name":"a","pid":0,"tid":0,"ts":1,"dur":1})";
  EXPECT_THAT(read("[" + event).operations, SizeIs(1));
  EXPECT_THAT(read("[" + event + ",\n").operations, SizeIs(1));
  EXPECT_THAT(refusal("[" + event + R"(,{"ph":"X","na)"), HasSubstr("in or after event 1"));
  EXPECT_THAT(refusal("[" + event + " and more"), HasSubstr("in or after event 1"));
}

TEST(ChromeTimeline, NestsAsDeepAsTheFileLikes) {
  constexpr int kLevels = 100'000;
  const std::string deep = std::string(kLevels, '[') + std::string(kLevels, ']');
  std::string objects;
  for (int i = 0; i < kLevels; ++i) objects += R"({"args":)";
  objects += "1" + std::string(kLevels, '}');
  const Timeline timeline = read(R"([{"ph":"X","name":"a","ts":1,"dur":1,"args":{"deep":)" + deep +
                                 R"(,"step":2,"more":)" + objects + "}}]");
  ASSERT_THAT(timeline.operations, SizeIs(1));
  EXPECT_EQ(timeline.operations[0].step, 2);
}

TEST(ChromeTimeline, OperationsThatAreThereTwiceAreTakenOnce) {
  const std::string
      event = R"({"ph":"X","name":"a","pid":0,"tid":0,"ts":1,"dur":1,"args":{"step":0}})";
  Timeline timeline = read("[" + event + "," + event +
                           R"(,{"ph":"X","name":"b","pid":0,"tid":0,"ts":0,"dur":9}])");
  mend(timeline);
  ASSERT_THAT(timeline.operations, SizeIs(2));
  EXPECT_EQ(timeline.names[timeline.operations[0].name], "b");
  EXPECT_THAT(timeline.repairs.notes(),
              ElementsAre("1 operations occur in the file more than once (first: \"a\" at 1 us): "
                          "each was read once"));
}

TEST(GzipStream, ReadsWhatIsCompressedAndReportsDamage) {
  const std::string path = testing::TempDir() + "gzip_stream_test.json.gz";
  std::string events = "[";
  for (int i = 0; i < 20000; ++i)
    events += R"({"ph":"X","name":"a","ts":)" + std::to_string(i * 7919 % 100003) + R"(,"dur":1},)";
  events += R"({"ph":"X","name":"last","ts":0,"dur":1}])";
  const gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_EQ(gzwrite(file, events.data(), static_cast<unsigned>(events.size())),
            static_cast<int>(events.size()));
  ASSERT_EQ(gzclose(file), Z_OK);
  {
    GzipBuffer buffer(path);
    std::istream from(&buffer);
    Timeline timeline;
    EXPECT_TRUE(read_chrome(from, timeline).is_ok());
    EXPECT_THAT(timeline.operations, SizeIs(20001));
    EXPECT_FALSE(buffer.has_failed());
  }
  std::FILE* whole = std::fopen(path.c_str(), "r+b");
  ASSERT_EQ(std::fseek(whole, 0, SEEK_END), 0);
  const long size = std::ftell(whole);
  std::fclose(whole);
  ASSERT_EQ(truncate(path.c_str(), size / 2), 0);
  GzipBuffer buffer(path);
  std::istream from(&buffer);
  Timeline timeline;
  EXPECT_FALSE(read_chrome(from, timeline).is_ok());
  EXPECT_TRUE(buffer.has_failed());
  std::remove(path.c_str());
}

}  // namespace
}  // namespace megascope::importer
