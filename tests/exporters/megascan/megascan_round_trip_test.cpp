// What is exported as MegaScan's files and imported again is the run that it was.
#include "analysis/import/megascan_timeline.h"
#include "analysis/import/mend.h"
#include "analysis/import/timeline_run.h"
#include "analysis/synth/synth.h"
#include "core/record/value_fact.h"
#include "exporters/megascan/export.h"
#include "tests/exporters/timeline/judged_timeline.h"
#include "tests/exporters/timeline/sample_timelines.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

namespace megascope::test {
namespace {

using importer::ParallelGrid;
using importer::Timeline;
using importer::TimelineRun;
using ::testing::IsEmpty;

/// A run with places in parallel groups, in memory.
MemorySource placed(const RecordSource& run, const std::string& sizes) {
  ParallelGrid grid;
  EXPECT_TRUE(ParallelGrid::parse(sizes, grid).is_ok());
  EXPECT_EQ(grid.size(), run.world_size());
  MemorySource copy(run.world_size());
  for (const std::int32_t rank : run.world_ranks()) {
    MemorySource::Process process{run.process(rank), {}};
    process.definitions.info.parallel = grid.indices_of(grid.coordinates_of(rank));
    for (const LocationDefinition& location : process.definitions.locations) {
      process.locations.emplace_back();
      const auto calls = run.calls(rank, location.id);
      for (Call call; calls->next(call);) {
        process.locations.back().push_back({call, {call.facts.begin(), call.facts.end()}, {}});
        process.locations.back().back().call.facts = {};
      }
    }
    copy.add(std::move(process));
  }
  return copy;
}

void export_to(const std::string& directory, const RecordSource& run,
               std::vector<std::string>& notes) {
  const auto alone = make_single_collective();
  const ExportJob job{.source = &run,
                      .collective = alone.get(),
                      .directory = directory,
                      .generator = "test",
                      .progress = {}};
  ExportResult result;
  const Status status = megascan::run_export(job, result);
  ASSERT_TRUE(status.is_ok()) << status.message();
  notes = result.notes;
}

std::unique_ptr<TimelineRun> import_from(const std::string& directory) {
  Timeline timeline;
  timeline.source = directory;
  const Status status = importer::read_megascan(directory, timeline);
  EXPECT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(timeline.notes, IsEmpty()) << timeline.notes.front();
  importer::mend(timeline);
  importer::OperationTable table;
  ParallelGrid grid;
  EXPECT_TRUE(importer::OperationTable::parse(importer::OperationTable::shipped(), table).is_ok());
  EXPECT_TRUE(ParallelGrid::around(timeline, grid).is_ok());
  std::unique_ptr<TimelineRun> run;
  const Status made = TimelineRun::make(std::move(timeline), grid, table, run);
  EXPECT_TRUE(made.is_ok()) << made.message();
  return run;
}

std::string text_of(const Fact& fact) {
  const std::string end = " " + std::to_string(fact.comm) + " " + std::to_string(fact.peer) + " " +
                          std::to_string(fact.bytes) + " ";
  switch (fact.kind) {
    case FactKind::kSend:
    case FactKind::kSendRequest:
      return " 1 send" + end + std::to_string(fact.tag);
    case FactKind::kRecv:
    case FactKind::kRecvComplete:
      return " 2 receive" + end + std::to_string(fact.tag);
    case FactKind::kCollective:
    case FactKind::kCollectiveComplete:
      return " 3 collective" + end + std::to_string(fact.sequence) + " " +
             std::to_string(fact.bytes_received);
    case FactKind::kValue:
      return " 4 " + std::string(value_name(value_name_of(fact))) + " " +
             std::to_string(value_of(fact));
    default:
      return {};
  }
}

/// All that a process's calls say, a line a call, without an order.
std::vector<std::string> calls_of(const RecordSource& run, std::int32_t rank) {
  std::vector<std::string> lines;
  const ProcessDefinitions& process = run.process(rank);
  for (const LocationDefinition& location : process.locations) {
    const auto calls = run.calls(rank, location.id);
    for (Call call; calls->next(call);) {
      std::vector<std::string> facts;
      for (const Fact& fact : call.facts) facts.push_back(text_of(fact));
      std::ranges::stable_sort(facts, {},
                               [](const std::string& text) { return text.substr(0, 2); });
      lines.push_back(location.name + ": " + std::to_string(call.enter_ns) + " " +
                      std::to_string(call.leave_ns) + " " + process.region(call.region)->name);
      for (const std::string& fact : facts) lines.back() += fact;
    }
  }
  std::ranges::sort(lines);
  return lines;
}

std::map<std::string, RegionDefinition> regions_of(const ProcessDefinitions& process,
                                                   const std::vector<std::string>& called) {
  std::map<std::string, RegionDefinition> regions;
  for (RegionDefinition region : process.regions) {
    region.id = 0;
    const auto is_called = [&region](const std::string& line) {
      return line.find(region.name) != std::string::npos;
    };
    if (std::ranges::any_of(called, is_called)) regions[region.name] = region;
  }
  return regions;
}

std::map<std::string, std::pair<std::int32_t, std::int32_t>> call_sites_of(
    const ProcessInfo& info) {
  std::map<std::string, std::pair<std::int32_t, std::int32_t>> call_sites;
  for (const ParallelIndex& parallel : info.parallel)
    call_sites[parallel.name] = {parallel.index, parallel.size};
  return call_sites;
}

void expect_same(const RecordSource& again, const RecordSource& run) {
  ASSERT_EQ(again.world_ranks(), run.world_ranks());
  EXPECT_EQ(again.world_size(), run.world_size());
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessDefinitions& process = run.process(rank);
    const std::vector<std::string> calls = calls_of(run, rank);
    EXPECT_EQ(calls_of(again, rank), calls) << "rank " << rank;
    EXPECT_EQ(regions_of(again.process(rank), calls), regions_of(process, calls));
    EXPECT_EQ(again.process(rank).comms, process.comms);
    EXPECT_EQ(again.process(rank).info.host, process.info.host);
    EXPECT_EQ(call_sites_of(again.process(rank).info), call_sites_of(process.info));
  }
}

std::vector<std::string> expect_round_trip(const RecordSource& run) {
  const TemporaryDirectory directory;
  std::vector<std::string> notes;
  export_to(directory.path(), run, notes);
  if (!testing::Test::HasFatalFailure()) expect_same(*import_from(directory.path()), run);
  return notes;
}

synth::RunSpec spec_of(synth::Pattern pattern) {
  synth::RunSpec spec;
  spec.pattern = pattern;
  spec.pp = 4;
  spec.steps = 4;
  spec.chunks = 2;
  return spec;
}

TEST(MegascanRoundTrip, KeepsASyntheticRun) {
  for (const synth::Pattern pattern : {synth::Pattern::k1F1B, synth::Pattern::kInterleaved}) {
    const synth::SynthRun run(spec_of(pattern));
    for (const char* sizes :
         {"tp=2,pp=4,dp=2", "tp=2,pp=4,dp=2,order=tp-pp-dp", "dp=16,order=dp-pp-tp"}) {
      EXPECT_THAT(expect_round_trip(placed(run, sizes)),
                  testing::ElementsAre(testing::HasSubstr("no steps are annotated")))
          << sizes;
    }
  }
}

/// Steps 100 …, two streams, communication that overlaps work, and the names of two tools.
Timeline pipeline() {
  Timeline timeline;
  timeline.source = "synthetic";
  const auto add = [&timeline](const char* name, std::uint32_t track, std::uint64_t begin_ns,
                               std::uint64_t end_ns, importer::Operation like) {
    like.name = timeline.name_index(name);
    like.track = track;
    like.begin_ns = begin_ns;
    like.end_ns = end_ns;
    timeline.operations.push_back(like);
  };
  for (std::int32_t worker = 0; worker < 4; ++worker) {
    for (const char* stream : {"compute", "comm"})
      timeline.tracks.push_back(
          {.coordinates = {.dp = worker / 2, .pp = worker % 2, .tp = 0}, .stream = stream});
  }
  for (std::int32_t step = 0; step < 3; ++step) {
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      const std::uint64_t at = 5'000U * static_cast<std::uint64_t>(step) + 7 * worker + 100;
      const bool is_last = worker % 2 == 1;
      add("forward", 2 * worker, at, at + 1000,
          {.step = 100 + step, .micro_batch = step, .model_chunk = 1});
      add(is_last ? "recv-warmup" : "send-warmup", 2 * worker + 1, at + 500, at + 1500,
          {.bytes = 64, .step = 100 + step, .micro_batch = 0, .sequence = 4});
      add(is_last ? "exchange-prev" : "exchange-next", 2 * worker + 1, at + 1500, at + 1600,
          {.bytes = 128, .step = 100 + step});
      add("allreduce", 2 * worker + 1, at + 2000, at + 2500, {.bytes = 32, .step = 100 + step});
      add("backward", 2 * worker, at + 1400, at + 2400, {.step = 100 + step});
      add("_reduce", 2 * worker, at + 1450, at + 1460, {.step = 100 + step});
    }
  }
  importer::mend(timeline);
  return timeline;
}

TEST(MegascanRoundTrip, KeepsAnImportedTimelineWithStepsAndStreams) {
  importer::OperationTable table;
  ASSERT_TRUE(importer::OperationTable::parse(importer::OperationTable::shipped(), table).is_ok());
  for (const char* sizes : {"pp=2,dp=2", "pp=2,dp=2,order=pp-dp-tp", "pp=2,dp=3"}) {
    ParallelGrid grid;
    ASSERT_TRUE(ParallelGrid::parse(sizes, grid).is_ok());
    std::unique_ptr<TimelineRun> run;
    ASSERT_TRUE(TimelineRun::make(pipeline(), grid, table, run).is_ok());
    const std::vector<std::string> notes = expect_round_trip(*run);
    ASSERT_FALSE(notes.empty());
    EXPECT_THAT(notes[0],
                testing::HasSubstr("24 of 72 calls partially overlap others of their rank"))
        << "a transfer and a reduction of each";
  }
}

TEST(MegascanRoundTrip, KeepsThreadsAndRequests) {
  std::vector<SampleProcess> run = ring(3, 20);
  MemorySource source = make_source(3, run);
  MemorySource whole = placed(source, "dp=3");
  expect_round_trip(whole);
  SampleProcess busy(0, 1);
  const LocationId thread = busy.add_thread("thread 1");
  busy.call("MPI_Recv", 100, 300, {recv(0, 1, 8)});
  busy.call("MPI_Sendrecv", 150, 400, {send(0, 2, 9), recv(0, 3, 10)}, thread);
  busy.call("MPI_Ibarrier", 500, 510,
            {with_request(FactKind::kCollectiveRequest, 5, collective(0, kNoPeer, 0, 0))});
  busy.call("MPI_Wait", 520, 530,
            {with_request(FactKind::kCollectiveComplete, 5, collective(0, kNoPeer, 0, 0))});
  const MemorySource alone = placed(make_source(1, {busy}), "dp=1");
  const TemporaryDirectory directory;
  std::vector<std::string> notes;
  export_to(directory.path(), alone, notes);
  const auto again = import_from(directory.path());
  EXPECT_THAT(
      calls_of(*again, 0),
      testing::ElementsAre("main thread: 100 300 MPI_Recv 2 receive 0 0 8 1",
                           "main thread: 500 510 MPI_Ibarrier",
                           "main thread: 520 530 MPI_Wait 3 collective 0 -1 0 0 0",
                           "thread 1: 150 400 MPI_Sendrecv 1 send 0 0 9 2 2 receive 0 0 10 3"));
}

}  // namespace
}  // namespace megascope::test
