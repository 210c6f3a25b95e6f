#include "core/trace/trace_writer.h"

#include "core/trace/run_files.h"
#include "tests/support/sample_process.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

/// Calls in memory, written as native traces, read as a run: the same calls and facts.
namespace megascope::trace {
namespace {

using test::collective;
using test::kWorld;
using test::make_source;
using test::recv;
using test::recv_complete;
using test::recv_request;
using test::SampleProcess;
using test::send;
using test::send_complete;

class TraceWriterTest : public testing::Test {
 protected:
  std::unique_ptr<RunSource> read() const {
    std::unique_ptr<RunSource> run;
    std::vector<std::string> problems;
    const Status status = RunSource::open(directory_.path(), {}, run, problems);
    EXPECT_TRUE(status.is_ok()) << status.message();
    EXPECT_THAT(problems, testing::IsEmpty());
    return run;
  }

  const test::TemporaryDirectory directory_;
};

SampleProcess process_of(std::int32_t rank, std::int32_t size) {
  SampleProcess process(rank, size);
  process.definitions().info.run_id = "generated";
  process.definitions().info.end_state = EndState::kFinalized;
  return process;
}

/// Every layout: folded, staged, large, short completions, a send and receive, nesting, a call of
/// six seconds, repeats. A call has the world as its argument, except those that complete requests.
void add_rich_calls(SampleProcess& process) {
  const auto call = [&](const char* function, std::uint64_t enter, std::uint64_t leave,
                        std::vector<Fact> facts = {}) {
    process.call(function, enter, leave, std::move(facts));
    process.last_call().comm = kWorld;
  };
  call("MPI_Send", 10, 20, {send(1, 3, 40)});
  call("MPI_Send", 20, 30, {send(1, 0, std::uint64_t{5} << 32)});
  call("MPI_Send", 30, 40, {recv_request(5, 1, 9, 64)});
  call("MPI_Waitall", 40, 50, {recv_complete(5, 1, 9, 64), send_complete(6)});
  process.last_call().comm = kNoComm;
  call("MPI_Send", 60, 90, {send(1, 1, 8), recv(1, 2, 16)});
  call("MPI_Send", 100, 6'000'000'100);
  call("MPI_Waitall", 6'000'000'110, 6'000'000'200);
  call("MPI_Send", 6'000'000'120, 6'000'000'130);
  process.last_call().depth = 1;
  call("MPI_Send", 6'000'000'300, 6'000'000'400, {collective(7, 0, 8, 9)});
  call("MPI_Waitall", 6'000'000'400, 6'000'000'900);
  process.last_call().count = 12;
  process.last_call().inside_ns = 400;
  call("MPI_Waitall", 6'000'001'000, 6'000'002'000, {recv_complete(5, 1, 9, 64)});
  process.last_call().uncertain_ns = 900;
  call("MPI_Waitall", 6'000'002'000, 12'000'002'000);
  process.last_call().uncertain_ns = 6'000'000'000;
  call("MPI_Send", 12'000'002'100, 12'000'002'200);
}

/// Regions that begin and end with each other, and others that begin where these end: `depth` alone
/// tells which is inside of which.
SampleProcess equal_times() {
  SampleProcess process = process_of(0, 1);
  process.call("MPI_Waitall", 10, 400);
  for (const std::uint64_t begin : {20U, 90U}) {
    for (std::uint8_t depth = 1; depth <= 3; ++depth) {
      process.call(depth == 2 ? "MPI_Send" : "MPI_Waitall", begin, begin == 20 ? 90 : 300, {}, 0,
                   depth);
    }
  }
  return process;
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
    EXPECT_EQ(a.uncertain_ns, b.uncertain_ns) << i;
    EXPECT_EQ(latest_entry_ns(a), latest_entry_ns(b)) << i;
    EXPECT_EQ(std::vector<Fact>(a.facts.begin(), a.facts.end()),
              std::vector<Fact>(b.facts.begin(), b.facts.end()))
        << i;
  }
  EXPECT_FALSE(have->next(b));
}

MemorySource rich_run() {
  std::vector<SampleProcess> processes;
  for (std::int32_t rank = 0; rank < 2; ++rank)
    add_rich_calls(processes.emplace_back(process_of(rank, 2)));
  return make_source(2, processes);
}

TEST_F(TraceWriterTest, CallsOfEqualTimesKeepTheirOrder) {
  const MemorySource source = make_source(1, {equal_times()});
  ASSERT_TRUE(write_run(source, directory_.path()).is_ok());
  expect_same_calls(source, *read(), 0);
}

TEST_F(TraceWriterTest, WhatIsWrittenIsRead) {
  const MemorySource source = rich_run();
  const Status status = write_run(source, directory_.path());
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
  SampleProcess process = process_of(0, 1);
  for (std::uint64_t i = 0; i < 50'000; ++i) {
    const auto tag = static_cast<std::int32_t>(i);
    std::vector<Fact> facts{send(0, tag, 1)};
    if (i % 3 == 0)
      facts.push_back({.kind = FactKind::kCollectiveComplete,
                       .comm = 0,
                       .request = 3,
                       .sequence = 1,
                       .bytes = i});
    process.call("MPI_Send", i * 1000, i * 1000 + 500, std::move(facts));
  }
  const MemorySource source = make_source(1, {process});
  ASSERT_TRUE(write_run(source, directory_.path()).is_ok());
  expect_same_calls(source, *read(), 0);
}

TEST_F(TraceWriterTest, AClockOfItsOwnIsPlacedByTheSystemsTime) {
  const MemorySource source = rich_run();
  const std::vector<TraceClock> clocks{{},
                                       {.offset_ns = -5'000'000'000,
                                        .drift_ppm = 100.0,
                                        .domain = "other",
                                        .realtime_error_ns = 2'000}};
  ASSERT_TRUE(write_run(source, directory_.path(), clocks).is_ok());
  const auto run = read();
  const auto calls = run->calls(1, 0);
  Call call;
  ASSERT_TRUE(calls->next(call));
  EXPECT_EQ(call.enter_ns, 2'010u);  // 10 ns after a start that the system's time puts 2 µs late
  while (calls->next(call)) {
  }
  EXPECT_NEAR(static_cast<double>(call.enter_ns), 12'000'002'100.0 * (1 + 100e-6) + 2'000, 1.0);
}

TEST_F(TraceWriterTest, TheSameCallsAreTheSameBytes) {
  std::vector<std::string> bytes;
  for (const char* name : {"a", "b"}) {
    const std::string directory = directory_ / name;
    std::filesystem::create_directory(directory);
    ASSERT_TRUE(write_run(rich_run(), directory).is_ok());
    std::ifstream file(directory + "/rank-1.mgt", std::ios::binary);
    bytes.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_GT(bytes[0].size(), 4096u);
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(TraceWriterTest, WhatThreadsWereInIsRead) {
  SampleProcess process = process_of(0, 1);
  process.definitions().info.end_state = EndState::kAborted;
  process.call("MPI_Send", 10, 20);
  process.in("MPI_Send", 30, 90, {recv(0, 4)});
  const MemorySource source = make_source(1, {process});
  ASSERT_TRUE(write_run(source, directory_.path()).is_ok());
  const auto run = read();
  const auto calls = run->calls(0, 0);
  Call call;
  ASSERT_TRUE(calls->next(call));
  ASSERT_TRUE(calls->next(call));
  EXPECT_TRUE(call.is_pending);
  EXPECT_EQ(call.enter_ns, 30u);
  EXPECT_EQ(std::vector<Fact>(call.posted.begin(), call.posted.end()), std::vector{recv(0, 4)});
}

TEST_F(TraceWriterTest, NothingIsOverwritten) {
  ASSERT_TRUE(write_run(rich_run(), directory_.path()).is_ok());
  EXPECT_THAT(write_run(rich_run(), directory_.path()).message(), testing::HasSubstr("rank-0.mgt"));
}

TEST(SampleProcess, RefusesAnMpiFunctionThatDoesNotExist) {
  SampleProcess process(0, 1);
  EXPECT_THROW(process.call("MPI_Sned", 10, 20), std::invalid_argument);
  process.call("Sned", 10, 20);
  EXPECT_EQ(process.definitions().regions.back().paradigm, Paradigm::kUser);
}

}  // namespace
}  // namespace megascope::trace
