#include "analysis/import/json_events.h"
#include "analysis/import/lanes.h"
#include "analysis/import/mend.h"
#include "analysis/import/operation_table.h"
#include "analysis/import/parallel_grid.h"
#include "analysis/import/timeline_facts.h"

#include <gmock/gmock.h>

#include <sstream>

/// Grids of ranks, the table of operations, lanes, and what belongs together.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ParallelGrid grid_of(const std::string& text) {
  ParallelGrid grid;
  const Status status = ParallelGrid::parse(text, grid);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return grid;
}

TEST(ParallelGrid, CountsTensorFirstThenDataThenPipeline) {
  const ParallelGrid grid = grid_of("tp=2,pp=4,dp=3");
  EXPECT_EQ(grid.size(), 24);
  EXPECT_EQ(grid.rank_of({.dp = 1, .pp = 2, .tp = 1}), 1 + 1 * 2 + 2 * 6);
  EXPECT_EQ(grid.coordinates_of(15), (GridCoordinates{.dp = 1, .pp = 2, .tp = 1}));
  EXPECT_THAT(grid.members("tp", grid.coordinates_of(15)), ElementsAre(14, 15));
  EXPECT_THAT(grid.members("dp", grid.coordinates_of(15)), ElementsAre(13, 15, 17));
  EXPECT_THAT(grid.members("pp", grid.coordinates_of(15)), ElementsAre(3, 9, 15, 21));
  EXPECT_THAT(grid.members("pp ends", grid.coordinates_of(15)), IsEmpty());
  EXPECT_THAT(grid.members("pp ends", grid.coordinates_of(3)), ElementsAre(3, 21));
  EXPECT_THAT(grid.members("world", grid.coordinates_of(3)), SizeIs(24));
  EXPECT_EQ(grid.first_member("pp", grid.coordinates_of(15)), 3);
  EXPECT_EQ(grid.first_member("pp ends", grid.coordinates_of(15)), -1);
  EXPECT_EQ(grid.index_in("pp ends", grid.coordinates_of(21)), 1);
  EXPECT_EQ(grid.neighbour("pp", grid.coordinates_of(15), 1), 3);
  EXPECT_EQ(grid.neighbour("pp", grid.coordinates_of(21), 1), -1);
  EXPECT_EQ(grid.neighbour("pp", grid.coordinates_of(3), INT32_MIN), -1);
  EXPECT_EQ(grid.indices_of(grid.coordinates_of(15)),
            (std::vector<ParallelIndex>{{"tp", 1, 2}, {"dp", 1, 3}, {"pp", 2, 4}}));
}

TEST(ParallelGrid, TakesAnotherOrder) {
  const ParallelGrid grid = grid_of("dp=3:tp=2+pp=4,order=pp-tp-dp");
  EXPECT_EQ(grid.rank_of({.dp = 1, .pp = 2, .tp = 1}), 2 + 1 * 4 + 1 * 8);
  EXPECT_TRUE(grid.contains({.dp = 2}));
  EXPECT_FALSE(grid.contains({.dp = 3}));
  EXPECT_FALSE(grid.contains({.rank = 24}));
}

TEST(ParallelGrid, RefusesWhatItCannotRead) {
  for (const char* text : {"", "tp", "tp=0", "tp=-1", "tp=x", "tp=4x", "cp=2", "order=tp-pp",
                           "order=tp-tp-pp", "tp=2,,", "tp=99999999999"}) {
    ParallelGrid grid;
    EXPECT_THAT(ParallelGrid::parse(text, grid).message(), HasSubstr("in the parallel sizes"))
        << text;
  }
  ParallelGrid grid;
  EXPECT_THAT(ParallelGrid::parse("tp=65536,pp=65536,dp=65536", grid).message(),
              HasSubstr("more than 2^24 ranks"));
}

TEST(ParallelGrid, IsAsLargeAsTheTracks) {
  Timeline timeline;
  timeline.tracks = {{.coordinates = {.dp = 1, .pp = 3}, .stream = ""},
                     {.coordinates = {.dp = 0, .pp = 0, .tp = 2}, .stream = ""}};
  ParallelGrid grid;
  ASSERT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  EXPECT_EQ(grid.size(), 2 * 4 * 3);
  timeline.tracks = {{.coordinates = {.rank = 5}, .stream = ""}};
  ASSERT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  EXPECT_EQ(grid.size(), 6);
  timeline.tracks[0].coordinates.rank = INT32_MAX;
  EXPECT_THAT(ParallelGrid::around(timeline, grid).message(), HasSubstr("beyond 2^24"));
  timeline.tracks[0].coordinates = {.dp = 5000, .pp = 5000};
  EXPECT_THAT(ParallelGrid::around(timeline, grid).message(), HasSubstr("more than 2^24"));
}

TEST(ParallelGrid, HasTheOrderThatRanksShow) {
  Timeline timeline;
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    timeline.tracks.push_back({.coordinates = {.dp = rank / 3, .pp = rank % 3, .tp = 0},
                               .stream = "",
                               .world_rank = rank});
  }
  ParallelGrid grid;
  ASSERT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  EXPECT_EQ(grid.rank_of({.dp = 1, .pp = 2, .tp = 0}), 5);
  EXPECT_EQ(grid.rank_of({.dp = 1, .pp = 0, .tp = 0}), 3);
  EXPECT_THAT(timeline.notes, IsEmpty());
  timeline.sizes = {.dp = 2, .pp = 4, .tp = 1};
  ASSERT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  EXPECT_EQ(grid.size(), 8) << "a worker that was not traced counts";
  EXPECT_EQ(grid.rank_of({.dp = 1, .pp = 0, .tp = 0}), 1) << "tensor, data, pipeline";
  EXPECT_THAT(timeline.notes, ElementsAre(HasSubstr("ranks were renumbered")));
}

TEST(JsonEvents, HaveListsOfNumbers) {
  const auto read = [](const std::string& text, std::vector<double>& list) {
    std::istringstream from(text);
    return read_json_events(from, "events", [&list](const JsonEvent& event) {
      list = event.list("a") == nullptr ? std::vector<double>{-1} : *event.list("a");
      return Status::ok();
    });
  };
  std::vector<double> list;
  EXPECT_TRUE(read(R"([{"b":[9],"a":[1,"x",2.5,null,-3],"c":4}])", list).is_ok());
  EXPECT_THAT(list, ElementsAre(1, 2.5, -3));
  EXPECT_TRUE(read(R"({"events":[{"a":[1,2]},{"args":{"a":[7]},"b":[[1]]}]})", list).is_ok());
  EXPECT_THAT(list, ElementsAre(-1)) << "of the event itself, and not the one before";
  std::string many = "[{\"a\":[0";
  for (int i = 0; i < 1 << 20; ++i) many += ",0";
  EXPECT_EQ(read(many + "]}]", list).message(), "event 0: a list has more than 2^20 numbers");
}

TEST(OperationTable, ReadsWhatIsShipped) {
  OperationTable table;
  const Status status = OperationTable::parse(OperationTable::shipped(), table);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(table.of("forward-send").kind, OperationKind::kSend);
  EXPECT_EQ(table.of("forward-send").to, 1);
  EXPECT_EQ(table.of("exchange-prev").channel_back, "forward");
  EXPECT_EQ(table.of("grads-reduce-scatter").op, CollectiveOp::kReduceScatter);
  EXPECT_EQ(table.of("unheard of").kind, OperationKind::kCompute);
}

TEST(OperationTable, ErrorsNameTheOperation) {
  const auto refusal = [](const std::string& fields) {
    OperationTable table;
    return OperationTable::parse(R"({"my-op":)" + fields + "}", table).message();
  };
  const std::string of = "operation \"my-op\": ";
  EXPECT_EQ(refusal("3"), of + "not an object");
  EXPECT_EQ(refusal("{}"), of + "\"kind\" is missing");
  EXPECT_THAT(refusal(R"({"kind":"gossip"})"),
              HasSubstr(of + "kind \"gossip\" is unknown, the kinds are compute, send"));
  EXPECT_EQ(refusal(R"({"kind":7})"), of + "\"kind\" is not a string");
  EXPECT_EQ(refusal(R"({"kind":"allreduce"})"),
            of + R"("over" must be dp, tp, pp, world or "pp ends")");
  EXPECT_EQ(refusal(R"({"kind":"send","over":"world","to":1,"channel":"a"})"),
            of + R"("over" of a message must be dp, tp or pp)");
  EXPECT_EQ(refusal(R"({"kind":"send","over":"pp","to":1})"), of + "a message needs a \"channel\"");
  EXPECT_EQ(refusal(R"({"kind":"send","over":"pp","channel":"a"})"),
            of + R"("to" and "from" are distances to the other end and must not be 0)");
  EXPECT_EQ(refusal(R"({"kind":"send","over":"pp","to":4294967297,"channel":"a"})"),
            of + "\"to\" is out of range");
  EXPECT_EQ(refusal(R"({"kind":"send","over":"pp","to":1.5,"channel":"a"})"),
            of + "\"to\" is not an integer");
  EXPECT_EQ(refusal(R"({"kind":"exchange","over":"pp","to":1,"from":1,"channel":"a"})"),
            of + "an exchange needs a \"channel_back\"");
  EXPECT_EQ(refusal(R"({"kind":"compute","colour":"red"})"),
            of + "\"colour\" is not a known field");
  OperationTable table;
  EXPECT_EQ(OperationTable::parse("[1", table).message(),
            "the table of operations is not a JSON object");
}

/// Operations of one track; name 0 is work, name 1 is communication.
std::vector<Lane> lanes_of_track(std::vector<Operation> operations) {
  Timeline timeline;
  timeline.names = {"work", "communication"};
  timeline.tracks = {{.coordinates = {}, .stream = "stream"}};
  timeline.operations = std::move(operations);
  mend(timeline);
  std::vector<std::uint32_t> indices;
  for (std::size_t i = 0; i < timeline.operations.size(); ++i)
    indices.push_back(static_cast<std::uint32_t>(i));
  std::vector<Lane> lanes;
  const Status status = lanes_of(timeline, indices, {true, false}, lanes);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return lanes;
}

TEST(Lanes, WorkEnclosesAndCommunicationDoesNot) {
  EXPECT_THAT(lanes_of_track({{.begin_ns = 0, .end_ns = 10, .name = 0},
                              {.begin_ns = 2, .end_ns = 4, .name = 1},
                              {.begin_ns = 4, .end_ns = 10, .name = 0}}),
              SizeIs(1));
  EXPECT_THAT(lanes_of_track({{.begin_ns = 0, .end_ns = 10, .name = 1},
                              {.begin_ns = 2, .end_ns = 4, .name = 0}}),
              SizeIs(2));
}

TEST(Lanes, WhatOverlapsInPartOrIsEqualCommunicationGetsALaneOfItsOwn) {
  const std::vector<Lane> lanes = lanes_of_track({{.begin_ns = 0, .end_ns = 10, .name = 0},
                                                  {.begin_ns = 5, .end_ns = 15, .name = 0},
                                                  {.begin_ns = 15, .end_ns = 20, .name = 0}});
  ASSERT_THAT(lanes, SizeIs(2));
  EXPECT_EQ(lanes[0].name, "stream");
  EXPECT_EQ(lanes[1].name, "stream (2)");
  EXPECT_THAT(lanes[0].operations, ElementsAre(0, 2));
  EXPECT_THAT(lanes[1].operations, ElementsAre(1));
  EXPECT_THAT(lanes_of_track({{.begin_ns = 0, .end_ns = 10, .name = 1, .sequence = 0},
                              {.begin_ns = 0, .end_ns = 10, .name = 1, .sequence = 1}}),
              SizeIs(2));
}

TEST(Lanes, WhatTakesNoTimeLiesBehindWhatEndedAndWithinWork) {
  const Operation first{.begin_ns = 0, .end_ns = 5, .name = 1};
  const Operation moment{.begin_ns = 5, .end_ns = 5, .name = 1};
  EXPECT_THAT(lanes_of_track({first, moment}), SizeIs(1));
  EXPECT_THAT(lanes_of_track({first, moment, {.begin_ns = 5, .end_ns = 9, .name = 0}}), SizeIs(1));
  EXPECT_THAT(lanes_of_track({first, moment, {.begin_ns = 5, .end_ns = 9, .name = 1}}),
              SizeIs(2));  // at its begin, not before it
}

TEST(Lanes, NestNoDeeperThanATraceCanReport) {
  std::vector<Operation> nested;
  for (std::uint64_t i = 0; i < 20; ++i)
    nested.push_back({.begin_ns = i, .end_ns = 100 - i, .name = 0});
  const std::vector<Lane> lanes = lanes_of_track(nested);
  ASSERT_THAT(lanes, SizeIs(3));
  EXPECT_THAT(lanes[0].operations, SizeIs(kDeepestNesting + 1));
}

TEST(Lanes, ThereAreNotEndlesslyMany) {
  Timeline timeline;
  timeline.names = {"work"};
  timeline.tracks = {{.coordinates = {}, .stream = "stream"}};
  std::vector<std::uint32_t> indices;
  for (std::uint32_t i = 0; i <= kMaxLanes; ++i) {
    timeline.operations.push_back({.begin_ns = i, .end_ns = 10000 + i});
    indices.push_back(i);
  }
  std::vector<Lane> lanes;
  EXPECT_THAT(lanes_of(timeline, indices, {true}, lanes).message(),
              HasSubstr("more than 256 operations of one track (\"stream\")"));
}

/// A worker a track.
MatchNumbers numbers_of(Timeline& timeline, std::vector<std::int32_t> ranks) {
  OperationTable table;
  EXPECT_TRUE(OperationTable::parse(OperationTable::shipped(), table).is_ok());
  return MatchNumbers(timeline, ranks, table);
}

TEST(MatchNumbers, BelongTogetherForAnythingMissingElsewhere) {
  Timeline timeline;
  const std::uint32_t send = timeline.name_index("forward-send");
  const std::uint32_t receive = timeline.name_index("forward-recv");
  timeline.operations = {
      {.begin_ns = 0, .end_ns = 1, .name = send, .track = 0, .step = 4, .sequence = 0},
      {.begin_ns = 1, .end_ns = 2, .name = send, .track = 0, .step = 4, .sequence = 1},
      {.begin_ns = 2, .end_ns = 3, .name = send, .track = 0, .step = 5, .sequence = 0},
      {.begin_ns = 3,
       .end_ns = 4,
       .name = receive,
       .track = 1,
       .step = 4,
       .sequence = 1},  // 0 was not recorded
      {.begin_ns = 5, .end_ns = 6, .name = receive, .track = 1, .step = 5, .sequence = 0}};
  const MatchNumbers numbers = numbers_of(timeline, {0, 1});
  EXPECT_EQ(numbers.received(3), numbers.sent(1));
  EXPECT_EQ(numbers.received(4), numbers.sent(2));
  EXPECT_NE(numbers.sent(0), numbers.sent(1));
}

TEST(MatchNumbers, WithoutSequencesTheOrderInTheStepDecides) {
  Timeline timeline;
  const std::uint32_t exchange_next = timeline.name_index("exchange-next");
  const std::uint32_t exchange_previous = timeline.name_index("exchange-prev");
  const std::uint32_t gather = timeline.name_index("params-all-gather");
  timeline.operations = {
      {.begin_ns = 0, .end_ns = 1, .name = gather, .track = 0, .step = 0},
      {.begin_ns = 0, .end_ns = 1, .name = gather, .track = 0, .step = 0},
      {.begin_ns = 0, .end_ns = 2, .name = gather, .track = 1, .step = 0},
      {.begin_ns = 3, .end_ns = 4, .name = gather, .track = 0, .step = 1},
      {.begin_ns = 3, .end_ns = 4, .name = gather, .track = 1, .step = 1},
      {.begin_ns = 5, .end_ns = 6, .name = exchange_next, .track = 0, .step = 1},
      {.begin_ns = 5, .end_ns = 6, .name = exchange_previous, .track = 1, .step = 1}};
  const MatchNumbers numbers = numbers_of(timeline, {0, 1});
  EXPECT_EQ(numbers.sent(0), numbers.sent(2));
  EXPECT_NE(numbers.sent(1), numbers.sent(2));
  EXPECT_EQ(numbers.sent(3),
            numbers.sent(4));  // one member more in the step before does not move it
  EXPECT_EQ(numbers.sent(5), numbers.received(6));
  EXPECT_EQ(numbers.sent(6), numbers.received(5));
}

}  // namespace
}  // namespace megascope::importer
