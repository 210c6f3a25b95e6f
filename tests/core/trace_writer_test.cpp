#include "core/trace/trace_writer.h"

#include "core/record/memory_source.h"
#include "core/trace/run_files.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdlib.h>

/// Calls in memory, written as native traces, read as a run: the same calls and facts.
namespace megascope::trace {
namespace {

class TraceWriterTest : public testing::Test {
 protected:
  TraceWriterTest() {
    char name[] = "/tmp/trace-writer-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~TraceWriterTest() override {
    std::error_code error;
    std::filesystem::remove_all(directory_, error);
  }
  std::unique_ptr<RunSource> read() const {
    std::unique_ptr<RunSource> run;
    std::vector<std::string> problems;
    const Status status = RunSource::open(directory_, {}, run, problems);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_THAT(problems, testing::IsEmpty());
    return run;
  }

  std::string directory_;
};

MemorySource::Process process_of(std::int32_t rank, std::int32_t size) {
  MemorySource::Process process;
  ProcessInfo& info = process.definitions.info;
  info.world_rank = rank;
  info.world_size = size;
  info.run_id = "generated";
  info.host = "n" + std::to_string(rank);
  info.end_state = EndState::kFinalized;
  process.definitions.regions = {
      {.id = 1, .name = "MPI_Send", .role = RegionRole::kPointToPoint, .group = "p2p"},
      {.id = 2, .name = "MPI_Waitall", .role = RegionRole::kFunction, .group = "request"}};
  CommDefinition world{.id = 0,
                       .parent = kNoComm,
                       .global_name = 77,
                       .kind = CommKind::kWorld,
                       .name = "MPI_COMM_WORLD",
                       .my_rank = rank,
                       .members = {{0, 1, size}},
                       .remote_members = {}};
  process.definitions.comms = {world};
  process.definitions.locations = {
      {.id = 0, .name = "main thread", .system_thread_id = 1, .is_main = true}};
  process.locations.resize(1);
  return process;
}

MemorySource::OwnedCall call_at(std::uint64_t enter, std::uint64_t leave, RegionId region,
                                std::vector<Fact> facts, CommId comm = 0) {
  MemorySource::OwnedCall owned;
  owned.call.enter_ns = enter;
  owned.call.leave_ns = leave;
  owned.call.region = region;
  owned.call.comm = comm;
  owned.facts = std::move(facts);
  return owned;
}

/// Every layout: folded, staged, large, short completions, a send and receive, nesting, a call of
/// six seconds, repeats.
std::vector<MemorySource::OwnedCall> rich_calls() {
  const Fact irecv{
      .kind = FactKind::kRecvRequest, .comm = 0, .request = 5, .peer = 1, .tag = 9, .bytes = 64};
  Fact received = irecv;
  received.kind = FactKind::kRecvComplete;
  std::vector<MemorySource::OwnedCall> calls;
  calls.push_back(
      call_at(10, 20, 1, {{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = 3, .bytes = 40}}));
  calls.push_back(
      call_at(20, 30, 1,
              {{.kind = FactKind::kSend, .comm = 0, .peer = 1, .bytes = std::uint64_t{5} << 32}}));
  calls.push_back(call_at(30, 40, 1, {irecv}));
  calls.push_back(
      call_at(40, 50, 2, {received, {.kind = FactKind::kSendComplete, .request = 6}}, kNoComm));
  calls.push_back(
      call_at(60, 90, 1,
              {{.kind = FactKind::kSend, .comm = 0, .peer = 1, .tag = 1, .bytes = 8},
               {.kind = FactKind::kRecv, .comm = 0, .peer = 1, .tag = 2, .bytes = 16}}));
  calls.push_back(call_at(100, 6'000'000'100, 1, {}));
  calls.push_back(call_at(6'000'000'110, 6'000'000'200, 2, {}));
  calls.push_back(call_at(6'000'000'120, 6'000'000'130, 1, {}));
  calls.back().call.depth = 1;
  calls.push_back(call_at(6'000'000'300, 6'000'000'400, 1,
                          {{.kind = FactKind::kCollective,
                            .comm = 0,
                            .sequence = 7,
                            .peer = 0,
                            .bytes = 8,
                            .bytes_received = 9}}));
  calls.push_back(call_at(6'000'000'400, 6'000'000'900, 2, {}));
  calls.back().call.count = 12;
  calls.back().call.inside_ns = 400;
  return calls;
}

/// Regions that begin and end with each other, and others that begin where these end: `depth` alone
/// tells which is inside of which.
std::vector<MemorySource::OwnedCall> equal_times() {
  std::vector<MemorySource::OwnedCall> calls = {call_at(10, 400, 2, {})};
  for (const std::uint64_t begin : {20U, 90U}) {
    for (std::uint8_t depth = 1; depth <= 3; ++depth) {
      calls.push_back(call_at(begin, begin == 20 ? 90 : 300, depth == 2 ? 1 : 2, {}));
      calls.back().call.depth = depth;
    }
  }
  return calls;
}

void expect_same_calls(const RecordSource& expected, const RecordSource& found, std::int32_t rank) {
  const auto want = expected.calls(rank, 0);
  const auto have = found.calls(rank, 0);
  Call a;
  Call b;
  for (int i = 0; want->next(a); ++i) {
    ASSERT_TRUE(have->next(b)) << i;
    EXPECT_EQ(a.enter_ns, b.enter_ns) << i;
    EXPECT_EQ(a.leave_ns, b.leave_ns) << i;
    EXPECT_EQ(a.region, b.region) << i;
    EXPECT_EQ(a.comm, b.comm) << i;
    EXPECT_EQ(a.depth, b.depth) << i;
    EXPECT_EQ(a.count, b.count) << i;
    EXPECT_EQ(std::vector<Fact>(a.facts.begin(), a.facts.end()),
              std::vector<Fact>(b.facts.begin(), b.facts.end()))
        << i;
  }
  EXPECT_FALSE(have->next(b));
}

MemorySource rich_run() {
  MemorySource source(2);
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    MemorySource::Process process = process_of(rank, 2);
    process.locations[0] = rich_calls();
    source.add(std::move(process));
  }
  source.set_start_realtime_ns(1'700'000'000'000'000'000);
  return source;
}

TEST_F(TraceWriterTest, CallsOfEqualTimesKeepTheirOrder) {
  MemorySource source(1);
  MemorySource::Process process = process_of(0, 1);
  process.locations[0] = equal_times();
  source.add(std::move(process));
  ASSERT_TRUE(write_run(source, directory_).is_ok());
  expect_same_calls(source, *read(), 0);
}

TEST_F(TraceWriterTest, WhatIsWrittenIsRead) {
  const MemorySource source = rich_run();
  const Status status = write_run(source, directory_);
  ASSERT_TRUE(status.is_ok()) << status.message();
  const auto run = read();
  ASSERT_EQ(run->world_ranks(), (std::vector<std::int32_t>{0, 1}));
  for (const std::int32_t rank : {0, 1}) {
    expect_same_calls(source, *run, rank);
    EXPECT_EQ(run->process(rank).comms, source.process(rank).comms);
    EXPECT_EQ(run->process(rank).regions, source.process(rank).regions);
    EXPECT_EQ(run->process(rank).info.host, source.process(rank).info.host);
    EXPECT_EQ(run->process(rank).losses[static_cast<std::size_t>(LossCause::kDamaged)], 0u);
  }
  EXPECT_EQ(run->start_realtime_ns(), source.start_realtime_ns());
}

TEST_F(TraceWriterTest, ManyCallsGoOnInFurtherChunks) {
  MemorySource source(1);
  MemorySource::Process process = process_of(0, 1);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const auto tag = static_cast<std::int32_t>(i);
    const Fact send{.kind = FactKind::kSend, .comm = 0, .peer = 0, .tag = tag, .bytes = 1};
    std::vector<Fact> facts{send};
    if (i % 3 == 0)
      facts.push_back({.kind = FactKind::kCollectiveComplete,
                       .comm = 0,
                       .request = 3,
                       .sequence = 1,
                       .bytes = i});
    process.locations[0].push_back(call_at(i * 1000, i * 1000 + 500, 1, std::move(facts)));
  }
  source.add(std::move(process));
  ASSERT_TRUE(write_run(source, directory_).is_ok());
  expect_same_calls(source, *read(), 0);
}

TEST_F(TraceWriterTest, AClockOfItsOwnIsPlacedByTheSystemsTime) {
  const MemorySource source = rich_run();
  const std::vector<TraceClock> clocks{{},
                                       {.offset_ns = -5'000'000'000,
                                        .drift_ppm = 100.0,
                                        .domain = "other",
                                        .realtime_error_ns = 2'000}};
  ASSERT_TRUE(write_run(source, directory_, clocks).is_ok());
  const auto run = read();
  const auto calls = run->calls(1, 0);
  Call call;
  ASSERT_TRUE(calls->next(call));
  EXPECT_EQ(call.enter_ns, 2'010u);  // 10 ns after a start that the system's time puts 2 µs late
  while (calls->next(call)) {
  }
  EXPECT_NEAR(static_cast<double>(call.enter_ns), 6'000'000'400.0 * (1 + 100e-6) + 2'000, 1.0);
}

TEST_F(TraceWriterTest, TheSameCallsAreTheSameBytes) {
  std::vector<std::string> bytes;
  for (const char* name : {"a", "b"}) {
    const std::string directory = directory_ + "/" + name;
    std::filesystem::create_directory(directory);
    ASSERT_TRUE(write_run(rich_run(), directory).is_ok());
    std::ifstream file(directory + "/rank-1.mgt", std::ios::binary);
    bytes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_GT(bytes[0].size(), 4096u);
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(TraceWriterTest, WhatThreadsWereInIsRead) {
  MemorySource source(1);
  MemorySource::Process process = process_of(0, 1);
  process.definitions.info.end_state = EndState::kAborted;
  process.locations[0].push_back(call_at(10, 20, 1, {}));
  MemorySource::OwnedCall waiting = call_at(30, 90, 1, {});
  waiting.call.is_pending = true;
  waiting.posted = {{.kind = FactKind::kRecv, .comm = 0, .peer = 0, .tag = 4, .bytes = 8}};
  process.locations[0].push_back(waiting);
  source.add(std::move(process));
  ASSERT_TRUE(write_run(source, directory_).is_ok());
  const auto run = read();
  const auto calls = run->calls(0, 0);
  Call call;
  ASSERT_TRUE(calls->next(call));
  ASSERT_TRUE(calls->next(call));
  EXPECT_TRUE(call.is_pending);
  EXPECT_EQ(call.enter_ns, 30u);
  EXPECT_EQ(std::vector<Fact>(call.posted.begin(), call.posted.end()), waiting.posted);
}

TEST_F(TraceWriterTest, NothingIsOverwritten) {
  ASSERT_TRUE(write_run(rich_run(), directory_).is_ok());
  EXPECT_THAT(write_run(rich_run(), directory_).message(), testing::HasSubstr("rank-0.mgt"));
}

}  // namespace
}  // namespace megascope::trace
