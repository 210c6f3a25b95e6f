#include "analysis/import/timeline_run.h"

#include "analysis/import/mend.h"
#include "core/record/value_fact.h"
#include "core/trace/run_files.h"
#include "core/trace/trace_writer.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

/// Timelines as runs, and as native traces of them.
namespace megascope::importer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ParallelIndexText, ComesBackAsItWas) {
  for (const ParallelIndex& index : {ParallelIndex{"tp", 0, 1}, ParallelIndex{"dp", 3, 4},
                                     ParallelIndex{"expert-data", 2147483646, 2147483647}}) {
    ParallelIndex again;
    EXPECT_TRUE(parse(to_text(index), again)) << to_text(index);
    EXPECT_EQ(again, index);
  }
  for (const char* text : {"", "tp", "tp ", "tp 0", "tp 0 ", " 0 1", "tp 1 1", "tp -1 2", "tp 0 2 ",
                           "tp 0 2 x", "tp x 2", "tp 0 99999999999"}) {
    ParallelIndex index;
    EXPECT_FALSE(parse(text, index)) << text;
  }
}

/// Two stages: forward, a message, an operation around another, and one that overlaps it in part.
Timeline two_stages() {
  Timeline timeline;
  timeline.source = "synthetic";
  const std::uint32_t work = timeline.name_index("forward-compute");
  const std::uint32_t send = timeline.name_index("forward-send");
  const std::uint32_t receive = timeline.name_index("forward-recv");
  const std::uint32_t gather = timeline.name_index("params-all-gather");
  timeline.tracks = {{.coordinates = {.dp = 0, .pp = 0}, .stream = "compute"},
                     {.coordinates = {.dp = 0, .pp = 1}, .stream = "compute"}};
  timeline.operations = {
      {.begin_ns = 0,
       .end_ns = 100,
       .name = work,
       .track = 0,
       .step = 8,
       .micro_batch = 0,
       .model_chunk = 1},
      {.begin_ns = 10, .end_ns = 20, .name = gather, .track = 0, .step = 8},
      {.begin_ns = 90,
       .end_ns = 130,
       .bytes = 64,
       .name = send,
       .track = 0,
       .step = 8,
       .micro_batch = 0,
       .sequence = 5},
      {.begin_ns = 50,
       .end_ns = 131,
       .bytes = 64,
       .name = receive,
       .track = 1,
       .step = 8,
       .micro_batch = 0,
       .sequence = 5},
  };
  mend(timeline);
  return timeline;
}

std::unique_ptr<TimelineRun> run_of(Timeline timeline, const std::string& sizes,
                                    std::string* refusal = nullptr) {
  OperationTable table;
  ParallelGrid grid;
  EXPECT_TRUE(OperationTable::parse(OperationTable::shipped(), table).is_ok());
  EXPECT_TRUE(ParallelGrid::parse(sizes, grid).is_ok());
  std::unique_ptr<TimelineRun> run;
  const Status status = TimelineRun::make(std::move(timeline), grid, table, run);
  if (refusal != nullptr) *refusal = status.message();
  EXPECT_EQ(status.is_ok(), refusal == nullptr) << status.message();
  return run;
}

/// "name begin end depth [what: values]" of a location.
std::vector<std::string> calls_of(const RecordSource& run, std::int32_t rank, LocationId location) {
  std::vector<std::string> texts;
  const auto calls = run.calls(rank, location);
  for (Call call; calls->next(call);) {
    const RegionDefinition* region = run.process(rank).region(call.region);
    std::string text = (region == nullptr ? "?" : region->name) + " " +
                       std::to_string(call.leave_ns - call.enter_ns) + " " +
                       std::to_string(call.depth);
    for (const Fact& fact : call.facts) {
      if (fact.kind == FactKind::kValue)
        text += " " + std::string(value_name(value_name_of(fact))) + "=" +
                std::to_string(value_of(fact));
      if (fact.kind == FactKind::kSend)
        text += " to " + std::to_string(fact.peer) + " tag " + std::to_string(fact.tag) +
                " bytes " + std::to_string(fact.bytes);
      if (fact.kind == FactKind::kRecv)
        text += " from " + std::to_string(fact.peer) + " tag " + std::to_string(fact.tag) +
                " bytes " + std::to_string(fact.bytes);
      if (fact.kind == FactKind::kCollective)
        text += " collective " + std::to_string(fact.sequence);
    }
    texts.push_back(text);
  }
  return texts;
}

TEST(TimelineRun, SurvivesANativeTrace) {
  const auto run = run_of(two_stages(), "pp=2");
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(trace::write_run(*run, directory.path()).is_ok());
  std::unique_ptr<trace::RunSource> again;
  std::vector<std::string> problems;
  const Status status = trace::RunSource::open(directory.path(), {}, again, problems);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_THAT(again->world_ranks(), ElementsAre(0, 1));
  EXPECT_EQ(again->process(1).info.parallel,
            (std::vector<ParallelIndex>{{"tp", 0, 1}, {"dp", 0, 1}, {"pp", 1, 2}}));
  for (const RecordSource* source : {static_cast<const RecordSource*>(run.get()),
                                     static_cast<const RecordSource*>(again.get())}) {
    EXPECT_THAT(calls_of(*source, 0, 0),
                ElementsAre("forward-compute 100 0 step=8 micro_batch=0 model_chunk=1",
                            "params-all-gather 10 1 collective 0 step=8"));
    EXPECT_THAT(
        calls_of(*source, 0, 1),
        ElementsAre("forward-send 40 0 to 1 tag 0 bytes 64 step=8 micro_batch=0 sequence=5"));
    EXPECT_THAT(
        calls_of(*source, 1, 0),
        ElementsAre("forward-recv 81 0 from 0 tag 0 bytes 64 step=8 micro_batch=0 sequence=5"));
    EXPECT_THAT(source->process(0).regions, SizeIs(3));  // its own, not those of others
    EXPECT_EQ(source->process(0).locations[1].name, "compute (2)");
  }
}

TEST(TimelineRun, HalvesTheBytesOfAnExchange) {
  Timeline timeline;
  timeline.source = "synthetic";
  timeline.tracks = {{.coordinates = {.dp = 0, .pp = 0}, .stream = ""},
                     {.coordinates = {.dp = 0, .pp = 1}, .stream = ""}};
  timeline.operations = {{.begin_ns = 0,
                          .end_ns = 9,
                          .bytes = 128,
                          .name = timeline.name_index("exchange-next"),
                          .track = 0,
                          .step = 1},
                         {.begin_ns = 0,
                          .end_ns = 9,
                          .bytes = 128,
                          .name = timeline.name_index("exchange-prev"),
                          .track = 1,
                          .step = 1}};
  EXPECT_THAT(calls_of(*run_of(timeline, "pp=2"), 0, 0),
              ElementsAre("exchange-next 9 0 to 1 tag 0 bytes 64 from 1 tag 1 bytes 64 step=1"));
}

TEST(TimelineRun, RefusesWhatDoesNotFit) {
  std::string refusal;
  run_of(two_stages(), "pp=1", &refusal);
  EXPECT_EQ(refusal,
            "synthetic: the worker dp 0 pp 1 does not fit into the parallel sizes: 1 ranks");
  Timeline by_rank = two_stages();
  by_rank.tracks[1].coordinates = {.rank = 7};
  run_of(by_rank, "pp=2", &refusal);
  EXPECT_EQ(refusal, "synthetic: rank 7 does not fit into the parallel sizes: 2 ranks");
  Timeline empty;
  empty.source = "empty.json";
  run_of(empty, "pp=2", &refusal);
  EXPECT_EQ(refusal, "empty.json contains no operations");
}

TEST(TimelineRun, SaysThatThereAreNoSteps) {
  Timeline timeline = two_stages();
  for (Operation& operation : timeline.operations) operation.step = kUnknown;
  EXPECT_THAT(run_of(timeline, "pp=2")->timeline().notes,
              ElementsAre(HasSubstr("no operation has a step number")));
}

TEST(TimelineRun, MemoryIsOfOperationsNotOfRanksTimesNames) {
  constexpr std::int32_t kWorkers = 20'000;
  Timeline timeline;
  timeline.source = "wide";
  for (std::int32_t i = 0; i < kWorkers; ++i) {
    timeline.tracks.push_back({.coordinates = {.dp = i}, .stream = ""});
    const std::uint32_t name = timeline.name_index("operation " + std::to_string(i));
    timeline.operations.push_back(
        {.begin_ns = 1, .end_ns = 2, .name = name, .track = static_cast<std::uint32_t>(i)});
  }
  mend(timeline);
  const auto run = run_of(std::move(timeline), "dp=20000");
  EXPECT_THAT(run->world_ranks(), SizeIs(kWorkers));
  EXPECT_THAT(run->process(kWorkers - 1).regions, SizeIs(1));
}

}  // namespace
}  // namespace megascope::importer
