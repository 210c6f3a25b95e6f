#include "analysis/import/megascan_timeline.h"

#include "analysis/import/mend.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <fstream>

/// MegaScan's directories: exact times by hand, and what is refused.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class MegascanTimeline : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ / name) << text;
  }
  void write_worker(const std::string& rows) const {
    write("benchmark-data-0-pipeline-0-tensor-0.json", "[" + rows + "]");
  }
  std::string refusal() const { return refusal_of(directory_.path()); }
  static std::string refusal_of(const std::string& directory) {
    Timeline timeline;
    const Status status = read_megascan(directory, timeline);
    EXPECT_FALSE(status.is_ok());
    return status.message();
  }

  const test::TemporaryDirectory directory_;
};

constexpr char kBegin[] = R"({"name":"iteration","ph":"B","pad_before":0},)";
constexpr char
    kEnd[] = R"({"name":"iteration","ph":"E","rel_ts":100,"duration_wall":100,"duration_cuda":90})";

TEST_F(MegascanTimeline, IterationsBeginOnAllWorkersAtOnce) {
  write("benchmark-data-0-pipeline-0-tensor-0.json", R"([
    {"name":"forward","ph":"B","rel_ts":1},
    {"name":"iteration","ph":"B","pad_before":0},
    {"name":"forward","ph":"B","rel_ts":100},
    {"name":"send-warmup","ph":"B","rel_ts":150},
    {"name":"send-warmup","ph":"E","rel_ts":180,"micro_batch_index":2,"data":4096,"group":[1],"bandwidth":null},
    {"name":"tick","ph":"i","rel_ts":190},
    {"name":"forward","ph":"E","rel_ts":200,"microbatch":2,"model_chunk":1},
    {"name":"iteration","ph":"E","rel_ts":1000,"duration_wall":1100,"duration_cuda":1000},
    {"name":"iteration","ph":"B","pad_before":50},
    {"name":"forward","ph":"B","rel_ts":10},
    {"name":"forward","ph":"E","rel_ts":20},
    {"name":"iteration","ph":"E","rel_ts":900,"duration_wall":900,"duration_cuda":900}])");
  write("benchmark-data-0-pipeline-1-tensor-0.json", R"([
    {"name":"iteration","ph":"B","pad_before":7},
    {"name":"iteration","ph":"E","rel_ts":1000,"duration_wall":1000,"duration_cuda":1000},
    {"name":"iteration","ph":"B","pad_before":500},
    {"name":"backward","ph":"B","rel_ts":0},
    {"name":"backward","ph":"E","rel_ts":2000},
    {"name":"iteration","ph":"E","rel_ts":2000,"duration_wall":1999,"duration_cuda":1999}])");
  write("notes.json", "nothing of ours");
  Timeline timeline;
  const Status status = read_megascan(directory_.path(), timeline);
  ASSERT_TRUE(status.is_ok()) << status.message();
  // Iteration 0 begins at 7, the longest pause, and lasts 1100; iteration 1 begins 500 later.
  EXPECT_THAT(timeline.names, ElementsAre("forward", "send-warmup", "backward"));
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(
          Operation{.begin_ns = 157,
                    .end_ns = 187,
                    .bytes = 4096,
                    .name = 1,
                    .track = 0,
                    .step = 0,
                    .micro_batch = 2,
                    .is_pair = true},
          Operation{.begin_ns = 107,
                    .end_ns = 207,
                    .name = 0,
                    .track = 0,
                    .step = 0,
                    .micro_batch = 2,
                    .model_chunk = 1,
                    .is_pair = true},
          Operation{
              .begin_ns = 1617, .end_ns = 1627, .name = 0, .track = 0, .step = 1, .is_pair = true},
          Operation{.begin_ns = 1607,
                    .end_ns = 3607,
                    .name = 2,
                    .track = 1,
                    .step = 1,
                    .is_pair = true}));
  ASSERT_THAT(timeline.tracks, SizeIs(2));
  EXPECT_EQ(timeline.tracks[1].coordinates, (GridCoordinates{.dp = 0, .pp = 1, .tp = 0}));
}

TEST_F(MegascanTimeline, WhatDoesNotEndLastsAsUsual) {
  write_worker(
      std::string(kBegin) +
      R"({"name":"forward","ph":"B","rel_ts":1},{"name":"forward","ph":"B","rel_ts":40},{"name":"forward","ph":"E","rel_ts":50},)" +
      kEnd);
  Timeline timeline;
  ASSERT_TRUE(read_megascan(directory_.path(), timeline).is_ok());
  mend(timeline);
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(
          Operation{.begin_ns = 1, .end_ns = 11, .name = 0, .track = 0, .step = 0, .is_pair = true},
          Operation{
              .begin_ns = 40, .end_ns = 50, .name = 0, .track = 0, .step = 0, .is_pair = true}));
  EXPECT_EQ(timeline.repairs.first(RepairKind::kMissingEnd),
            "benchmark-data-0-pipeline-0-tensor-0.json, event 1");
  EXPECT_EQ(timeline.repairs.event_count(), 5u);
}

TEST_F(MegascanTimeline, EndsWithoutABeginAndDoubledRowsAreMended) {
  write_worker(std::string(kBegin) + kBegin +
               R"({"name":"forward","ph":"B","rel_ts":10},{"name":"forward","ph":"B","rel_ts":10},
    {"name":"forward","ph":"E","rel_ts":20},{"name":"backward","ph":"B","rel_ts":30},{"name":"backward","ph":"E","rel_ts":45},
    {"name":"backward","ph":"E","rel_ts":45},{"name":"forward","ph":"E","rel_ts":62},{"name":"forward","ph":"B","rel_ts":80},
    {"name":"forward","ph":"E","rel_ts":79},)" +
               kEnd);
  Timeline timeline;
  const Status status = read_megascan(directory_.path(), timeline);
  ASSERT_TRUE(status.is_ok()) << status.message();
  mend(timeline);
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(
          Operation{
              .begin_ns = 10, .end_ns = 62, .name = 0, .track = 0, .step = 0, .is_pair = true},
          Operation{
              .begin_ns = 10, .end_ns = 20, .name = 0, .track = 0, .step = 0, .is_pair = true},
          Operation{
              .begin_ns = 30, .end_ns = 45, .name = 1, .track = 0, .step = 0, .is_pair = true},
          Operation{
              .begin_ns = 80, .end_ns = 132, .name = 0, .track = 0, .step = 0, .is_pair = true}));
  EXPECT_EQ(timeline.repairs.count(RepairKind::kDuplicate), 2u);
  EXPECT_EQ(timeline.repairs.count(RepairKind::kNegativeDuration), 1u);
}

TEST_F(MegascanTimeline, AnIterationThatHasOnlyABeginOfAnOperationIsOne) {  // found by the fuzzer
  write_worker(std::string(kBegin) +
               R"({"name":"f","ph":"B","rel_ts":20},{"name":"f","ph":"E","rel_ts":30},)" + kEnd +
               R"(,{"name":"f","ph":"B","rel_ts":12})");
  Timeline timeline;
  ASSERT_TRUE(read_megascan(directory_.path(), timeline).is_ok());
  mend(timeline);
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(
          Operation{
              .begin_ns = 20, .end_ns = 30, .name = 0, .track = 0, .step = 0, .is_pair = true},
          Operation{
              .begin_ns = 112, .end_ns = 122, .name = 0, .track = 0, .step = 1, .is_pair = true}));
}

TEST_F(MegascanTimeline, AnIterationWithoutItsBeginOrEndKeepsItsNumber) {
  const std::string
      pair = R"({"name":"forward","ph":"B","rel_ts":10},{"name":"forward","ph":"E","rel_ts":20},)";
  write("benchmark-data-0-pipeline-0-tensor-0.json", "[" + std::string(kBegin) + pair + kEnd + "," +
                                                         pair + kEnd + "," + kBegin + pair + kEnd +
                                                         "]");
  write("benchmark-data-0-pipeline-1-tensor-0.json",
        "[" + std::string(kBegin) + pair + kBegin + pair + kEnd + "," + kBegin + pair + kEnd + "]");
  Timeline timeline;
  ASSERT_TRUE(read_megascan(directory_.path(), timeline).is_ok());
  mend(timeline);
  ASSERT_THAT(timeline.operations, SizeIs(6));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(timeline.operations[i].begin_ns, 100 * (i / 2) + 10);
    EXPECT_EQ(timeline.operations[i].step, static_cast<std::int32_t>(i / 2));
  }
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingBegin), 1u);
  EXPECT_EQ(timeline.repairs.count(RepairKind::kMissingEnd), 1u);
}

TEST_F(MegascanTimeline, ErrorsNameTheFileTheEventAndWhatIsWrong) {
  const auto refusal_of = [this](const std::string& rows) {
    write_worker(std::string(kBegin) + rows + kEnd);
    return refusal();
  };
  const std::string begin = R"({"name":"forward","ph":"B","rel_ts":5},)";
  EXPECT_THAT(refusal_of(R"({"name":"forward","ph":"B"},)"),
              HasSubstr("tensor-0.json: event 1: \"rel_ts\" is missing or not a number"));
  EXPECT_THAT(refusal_of(R"({"name":"forward","ph":"B","rel_ts":"5"},)"),
              HasSubstr("event 1: \"rel_ts\" is missing"));
  EXPECT_THAT(refusal_of(R"({"name":"forward","ph":"B","rel_ts":1e300},)"),
              HasSubstr("event 1: \"rel_ts\" is out of range"));
  EXPECT_THAT(refusal_of(begin + R"({"name":"forward","ph":"E","rel_ts":-4},)"),
              HasSubstr("event 2: \"rel_ts\" is negative"));
  EXPECT_THAT(refusal_of(R"({"ph":"B","rel_ts":4},)"),
              HasSubstr("event 1: \"name\" is missing or empty"));
  write_worker(R"({"name":"iteration","ph":"B","pad_before":"0"})");
  EXPECT_THAT(refusal(), HasSubstr("event 0: \"pad_before\" is not a number"));
  write_worker(R"({"name":"iteration","ph":"B","pad_before":-1})");
  EXPECT_THAT(refusal(), HasSubstr("event 0: \"pad_before\" is out of range"));
  write_worker(std::string(kBegin) +
               R"({"name":"iteration","ph":"E","rel_ts":1,"duration_wall":"1"})");
  EXPECT_THAT(refusal(), HasSubstr("event 1: \"duration_wall\" is not a number"));
}

constexpr char kProcess
    [] = R"({"name":"process","ph":"i","rel_ts":0,"host":"n7","stream":"main","sizes":[2,3,1]},)";

TEST_F(MegascanTimeline, WhatMegascopeWroteIsTakenAsItWas) {
  write_worker(R"({"name":"iteration","ph":"B","pad_before":9,"begin_ns":5000,"step":12},)" +
               std::string(kProcess) + R"(
    {"name":"region","ph":"i","rel_ts":0,"region":"MPI_Send","kind":"p2p","role":2,"paradigm":1,"op":0},
    {"name":"communicator","ph":"i","rel_ts":0,"comm":0,"comm_name":"pair","global_name":"ff00000000000001","kind":2,"my_rank":1,"members":[4,-3,2]},
    {"name":"MPI_Send","ph":"B","rel_ts":10,"g_rk":3},
    {"name":"MPI_Send","ph":"E","rel_ts":30,"g_rk":3,"stream":"thread 1","uncut_begin":5,"uncut_end":40,"seq_id":2,"sends":[0,1,-7,4096,0,0,8,1],
     "receives":[0,1,0,2],"collectives":[0,6,-1,3,4]},)" +
               kEnd);
  Timeline timeline;
  const Status status = read_megascan(directory_.path(), timeline);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(timeline.notes, IsEmpty());
  EXPECT_THAT(timeline.operations, ElementsAre(Operation{.begin_ns = 5005,
                                                         .end_ns = 5040,
                                                         .name = 0,
                                                         .track = 1,
                                                         .step = 12,
                                                         .sequence = 2,
                                                         .specified = 1,
                                                         .is_pair = true}));
  EXPECT_THAT(
      timeline.facts,
      ElementsAre(Fact{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = -7, .bytes = 4096},
                  Fact{.kind = FactKind::kSend, .comm = 0, .peer = 0, .tag = 8, .bytes = 1},
                  Fact{.kind = FactKind::kRecv, .comm = 0, .peer = 1, .tag = 0, .bytes = 2},
                  Fact{.kind = FactKind::kCollective,
                       .comm = 0,
                       .sequence = 6,
                       .bytes = 3,
                       .bytes_received = 4}));
  EXPECT_EQ(timeline.regions[0], (RegionDefinition{.name = "MPI_Send",
                                                   .role = RegionRole::kPointToPoint,
                                                   .paradigm = Paradigm::kMpi,
                                                   .collective_op = CollectiveOp::kNone,
                                                   .group = "p2p"}));
  ASSERT_THAT(timeline.definitions, SizeIs(1));
  EXPECT_EQ(timeline.definitions[0].host, "n7");
  EXPECT_THAT(timeline.definitions[0].comms,
              ElementsAre(CommDefinition{.id = 0,
                                         .parent = kNoComm,
                                         .global_name = 0xff00000000000001,
                                         .kind = CommKind::kIntra,
                                         .name = "pair",
                                         .my_rank = 1,
                                         .members = {{4, -3, 2}},
                                         .remote_members = {}}));
  EXPECT_EQ(timeline.sizes, (GridCoordinates{.dp = 2, .pp = 3, .tp = 1}));
  ASSERT_THAT(timeline.tracks, SizeIs(2));
  EXPECT_EQ(timeline.tracks[0].stream, "main");
  EXPECT_EQ(timeline.tracks[1].stream, "thread 1");
  EXPECT_EQ(timeline.tracks[1].world_rank, 3);
}

TEST_F(MegascanTimeline, BeginsCountOnlyWhereAllFilesReportTheSame) {
  const std::string
      specified = R"([{"name":"iteration","ph":"B","pad_before":9,"begin_ns":5000,"step":12},
    {"name":"forward","ph":"B","rel_ts":1},{"name":"forward","ph":"E","rel_ts":2},)";
  write("benchmark-data-0-pipeline-0-tensor-0.json", specified + kEnd + "]");
  write("benchmark-data-0-pipeline-1-tensor-0.json", "[" + std::string(kBegin) + kEnd + "]");
  Timeline timeline;
  ASSERT_TRUE(read_megascan(directory_.path(), timeline).is_ok());
  EXPECT_THAT(
      timeline.operations,
      ElementsAre(Operation{
          .begin_ns = 10, .end_ns = 11, .name = 0, .track = 0, .step = 0, .is_pair = true}));
  EXPECT_THAT(timeline.notes, ElementsAre(HasSubstr("clocks of the workers were never compared")));
}

TEST_F(MegascanTimeline, ErrorsNameWhatIsDefinedBadly) {
  const auto refusal_of = [this](const std::string& rows) {
    write_worker(std::string(kBegin) + kProcess + rows + kEnd);
    return refusal();
  };
  const std::string comm =
      R"({"name":"communicator","ph":"i","comm":0,"global_name":"1","kind":2,"my_rank":0,"members":[0,1,2]},)";
  const auto ends_with = [&](const std::string& keys) {
    return refusal_of(comm +
                      R"({"name":"a","ph":"B","rel_ts":1},{"name":"a","ph":"E","rel_ts":2,)" +
                      keys + "},");
  };
  EXPECT_THAT(refusal_of(kProcess), HasSubstr("event 2: the file contains more than one process"));
  EXPECT_THAT(refusal_of(R"({"name":"region","ph":"i","region":""},)"),
              HasSubstr("event 2: a region has no name"));
  EXPECT_THAT(
      refusal_of(R"({"name":"region","ph":"i","region":"a","role":99,"paradigm":0,"op":0},)"),
      HasSubstr("\"role\" is missing, not an integer, or out of range"));
  EXPECT_THAT(refusal_of(comm + comm), HasSubstr("event 3: \"comm\" does not follow"));
  EXPECT_THAT(
      refusal_of(
          R"({"name":"communicator","ph":"i","comm":0,"global_name":"x","kind":2,"my_rank":0},)"),
      HasSubstr("not a hexadecimal number"));
  EXPECT_THAT(
      refusal_of(
          R"({"name":"communicator","ph":"i","comm":0,"global_name":"1","kind":2,"my_rank":0,"members":[0,1]},)"),
      HasSubstr("does not have 3 numbers per entry"));
  EXPECT_THAT(
      refusal_of(
          R"({"name":"communicator","ph":"i","comm":0,"global_name":"1","kind":2,"my_rank":0,"members":[5,-3,3]},)"),
      HasSubstr("beyond 2^24"));
  EXPECT_THAT(ends_with(R"("sends":[0,0,0])"),
              HasSubstr("event 4: \"sends\" does not have 4 numbers per entry"));
  EXPECT_THAT(ends_with(R"("sends":[1,0,0,8])"),
              HasSubstr("\"sends\" is missing, not an integer, or out of range"))
      << "a communicator that is not defined";
  EXPECT_THAT(ends_with(R"("receives":[0,0,0.5,8])"), HasSubstr("\"receives\" is missing"));
  EXPECT_THAT(ends_with(R"("collectives":[0,-1,0,8,8])"), HasSubstr("\"collectives\" is missing"));
  EXPECT_THAT(ends_with(R"("uncut_begin":7)"),
              HasSubstr("\"uncut_begin\" or \"uncut_end\" is out of range"));
  write_worker(R"({"name":"iteration","ph":"B","pad_before":0,"begin_ns":-1})");
  EXPECT_THAT(refusal(), HasSubstr("\"begin_ns\" is out of range"));
  write_worker(R"({"name":"iteration","ph":"B","pad_before":0,"begin_ns":1,"step":-2})");
  EXPECT_THAT(refusal(), HasSubstr("\"step\" is out of range"));
}

TEST_F(MegascanTimeline, OneFileAWorker) {
  write("benchmark-data-0-pipeline-0-tensor-0.json", "[]");
  write("benchmark-data-00-pipeline-0-tensor-0.json", "[]");
  EXPECT_THAT(refusal(), HasSubstr("belong to the same worker"));
}

TEST_F(MegascanTimeline, DirectoriesWithoutItsFilesAreRefused) {
  write("benchmark-data-0-pipeline-x-tensor-0.json", "[]");
  write("benchmark-data-0-pipeline-0-tensor-0.json.bak", "[]");
  EXPECT_THAT(refusal(), HasSubstr("no benchmark-data-<D>-pipeline-<P>-tensor-<T>.json"));
  EXPECT_THAT(refusal_of(directory_ / "nowhere"), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace megascope::importer
