// What becomes of one-sided communication: events as otf2-print shows them, and what the judge says
// of them.
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::vector<std::string>;

Lines events(const std::vector<SampleProcess>& processes, std::uint64_t location = 0) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_run(directory.path(), static_cast<std::int32_t>(processes.size()),
                                   processes, 1, result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return printed_events(directory.path() + "/trace.otf2", location);
}

/// Without Enter and Leave.
Lines inner(Lines lines) {
  std::erase_if(lines, [](const std::string& line) {
    return line.starts_with("ENTER") || line.starts_with("LEAVE");
  });
  return lines;
}

Fact both_ways(FactKind kind, WinId window, std::int32_t peer, std::uint64_t sent,
               std::uint64_t received, RequestId id) {
  Fact fact = one_sided(kind, window, peer, sent, id);
  fact.bytes_received = received;
  return fact;
}

TEST(Otf2Rma, AnOperationIsIssuedAtItsEnterAndCompletedByTheFence) {
  SampleProcess process(0, 1);
  const WinId window = process.add_window(5, "halo");
  process.call("MPI_Put", 10, 11, {one_sided(FactKind::kPut, window, 0, 40, 7)});
  process.call("MPI_Get", 12, 13, {both_ways(FactKind::kGet, window, 0, 0, 16, 8)});
  process.call("MPI_Win_fence", 20, 30,
               {one_sided(FactKind::kFence, window, kNoPeer, rma::kNoSucceed)});
  EXPECT_THAT(inner(events({process})),
              ElementsAre("RMA_PUT 10 Window: \"halo\" <0>, Remote: 0 (\"main thread\" <0>), "
                          "Bytes: 40, Matching: 7",
                          "RMA_GET 12 Window: \"halo\" <0>, Remote: 0 (\"main thread\" <0>), "
                          "Bytes: 16, Matching: 8",
                          "RMA_COLLECTIVE_BEGIN 20",
                          "RMA_OP_COMPLETE_NON_BLOCKING 30 Window: \"halo\" <0>, Matching: 7",
                          "RMA_OP_COMPLETE_REMOTE 30 Window: \"halo\" <0>, Matching: 7",
                          "RMA_OP_COMPLETE_NON_BLOCKING 30 Window: \"halo\" <0>, Matching: 8",
                          "RMA_OP_COMPLETE_REMOTE 30 Window: \"halo\" <0>, Matching: 8",
                          "RMA_COLLECTIVE_END 30 Operation: BARRIER, Window: \"halo\" <0>, Level "
                          "of Synchronicity: {PROCESS, MEMORY}, Root: NONE, Sent: 0, Received: 0"));
}

TEST(Otf2Rma, AtomicOperationsReportWhatTheyAre) {
  SampleProcess process(0, 1);
  const WinId window = process.add_window(5, "halo");
  process.call("MPI_Accumulate", 10, 11, {one_sided(FactKind::kAccumulate, window, 0, 40, 1)});
  process.call("MPI_Fetch_and_op", 12, 13,
               {both_ways(FactKind::kGetAccumulate, window, 0, 4, 4, 2)});
  process.call("MPI_Compare_and_swap", 14, 15,
               {both_ways(FactKind::kCompareAndSwap, window, 0, 8, 4, 3)});
  const Lines lines = inner(events({process}));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("Type: ACCUMULATE, Sent: 40, Received: 0, Matching: 1"));
  EXPECT_THAT(lines[1], HasSubstr("Type: FETCH_AND_ACCUMULATE, Sent: 4, Received: 4, Matching: 2"));
  EXPECT_THAT(lines[2], HasSubstr("Type: COMPARE_AND_SWAP, Sent: 8, Received: 4, Matching: 3"));
}

TEST(Otf2Rma, AWindowIsMadeAndEndedInsideOfACollective) {
  SampleProcess process(0, 1);
  const WinId window = process.add_window(5, "halo", WindowFlavor::kAllocate);
  process.call("MPI_Win_allocate", 10, 20,
               {one_sided(FactKind::kWinCreated, window, kNoPeer, 4096)});
  process.call("MPI_Win_free", 30, 40, {one_sided(FactKind::kWinFreed, window)});
  const Lines lines = inner(events({process}));
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0], "RMA_COLLECTIVE_BEGIN 10");
  EXPECT_EQ(lines[1], "RMA_WIN_CREATE 20 Window: \"halo\" <0>");
  EXPECT_THAT(lines[2], HasSubstr("Operation: CREATE_HANDLE_AND_ALLOCATE, Window: \"halo\" <0>, "
                                  "Level of Synchronicity: {PROCESS}"));
  EXPECT_EQ(lines[4], "RMA_WIN_DESTROY 40 Window: \"halo\" <0>");
  EXPECT_THAT(lines[5], HasSubstr("Operation: DESTROY_HANDLE_AND_DEALLOCATE"));
}

TEST(Otf2Rma, LocksFlushesAndRequests) {
  SampleProcess process(0, 1);
  const WinId window = process.add_window(5, "halo");
  process.call("MPI_Win_lock", 10, 11, {one_sided(FactKind::kLock, window, 0, rma::kExclusive)});
  process.call("MPI_Rput", 12, 13, {one_sided(FactKind::kRput, window, 0, 40, 7)});
  process.call("MPI_Test", 14, 15, {one_sided(FactKind::kRequestTest, window, kNoPeer, 0, 7)});
  process.call("MPI_Wait", 16, 17, {of_request(FactKind::kRmaComplete, 7)});
  process.call("MPI_Win_flush", 18, 19, {one_sided(FactKind::kFlush, window, 0)});
  process.call("MPI_Win_sync", 20, 21, {one_sided(FactKind::kWinSync, window)});
  process.call("MPI_Win_unlock", 22, 23, {one_sided(FactKind::kUnlock, window, 0)});
  process.call("MPI_Win_lock_all", 24, 25, {one_sided(FactKind::kLock, window)});
  process.call("MPI_Win_unlock_all", 26, 27, {one_sided(FactKind::kUnlock, window)});
  const Lines lines = inner(events({process}));
  ASSERT_EQ(lines.size(), 9u);
  EXPECT_EQ(lines[0],
            "RMA_REQUEST_LOCK 10 Window: \"halo\" <0>, Remote: 0 (\"main thread\" <0>), Lock: 0, "
            "Type: EXCLUSIVE");
  EXPECT_EQ(lines[2], "RMA_OP_TEST 15 Window: \"halo\" <0>, Matching: 7");
  EXPECT_EQ(lines[3], "RMA_OP_COMPLETE_NON_BLOCKING 17 Window: \"halo\" <0>, Matching: 7");
  EXPECT_EQ(lines[4], "RMA_OP_COMPLETE_REMOTE 19 Window: \"halo\" <0>, Matching: 7");
  EXPECT_THAT(lines[5], HasSubstr("RMA_SYNC 21 Window: \"halo\" <0>, Remote: 0"));
  EXPECT_THAT(lines[6], HasSubstr("RMA_RELEASE_LOCK 23 Window: \"halo\" <0>, Remote: 0"));
  EXPECT_THAT(lines[7], HasSubstr("Remote: UNDEFINED, Lock: 0, Type: SHARED"));
}

/// Two ranks that put into each other's windows in epochs of a group.
std::vector<SampleProcess> neighbours() {
  std::vector<SampleProcess> processes;
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    SampleProcess process(rank, 2);
    process.add_window(100, "of no other process");  // ids differ from rank to rank
    if (rank == 0) process.add_window(101, "again");
    const WinId window = process.add_window(5, rank == 0 ? "halo" : "");
    const GroupId other = process.add_group({1 - rank});
    const auto sync = [&](const char* name, std::uint64_t time, std::uint64_t what) {
      process.call(name, time, time + 5,
                   {one_sided(FactKind::kGroupSync, window, kNoPeer, what, 0, other)});
    };
    process.call("MPI_Win_create", 10, 20, {one_sided(FactKind::kWinCreated, window, kNoPeer, 64)});
    sync("MPI_Win_post", 30, rma::kPost);
    sync("MPI_Win_start", 40, rma::kStart);
    process.call("MPI_Put", 50, 55, {one_sided(FactKind::kPut, window, 1 - rank, 40, 1)});
    sync("MPI_Win_complete", 60, rma::kComplete);
    sync("MPI_Win_wait", 70, rma::kWait);
    process.call("MPI_Win_fence", 80, 90, {one_sided(FactKind::kFence, window)});
    process.call("MPI_Win_free", 100, 110, {one_sided(FactKind::kWinFreed, window)});
    processes.push_back(std::move(process));
  }
  return processes;
}

TEST(Otf2Rma, WindowsAndGroupsAreTheSameForAllMembers) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_run(directory.path(), 2, neighbours(), 2, result);
  ASSERT_TRUE(status.is_ok()) << status.message();
  const std::string anchor = directory.path() + "/trace.otf2";
  const Lines windows = printed_definitions(anchor, "RMA_WIN");
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_THAT(windows[2], HasSubstr("Name: \"halo\""));
  EXPECT_THAT(windows[2], HasSubstr("Flags: {CREATE_DESTROY_EVENTS}"));
  const Lines lines = inner(printed_events(anchor, 1));
  EXPECT_THAT(lines[1], HasSubstr("RMA_WIN_CREATE 20 Window: \"halo\" <2>"));
  EXPECT_THAT(
      lines[3],
      HasSubstr(
          "RMA_GROUP_SYNC 35 Level of Synchronicity: NONE, Window: \"halo\" <2>, Group: \"\" <2>"));
  EXPECT_THAT(lines[6], HasSubstr("RMA_OP_COMPLETE_NON_BLOCKING 65"));
  EXPECT_THAT(lines[7], HasSubstr("RMA_GROUP_SYNC 65 Level of Synchronicity: {MEMORY}"));
  const Judgement judgement = judge(anchor);
  EXPECT_EQ(judgement.exit_code, 0) << judgement.report.dump(1);
  EXPECT_EQ(judgement.report["one_sided"]["puts"], 2);
  EXPECT_EQ(judgement.report["one_sided"]["bytes_to_targets"], 80);
  EXPECT_EQ(judgement.report["one_sided"]["group_synchronisations"], 8);
}

/// What the judge says of the neighbours when one thing is changed.
nlohmann::json defects_after(void (*change)(std::vector<SampleProcess>&)) {
  std::vector<SampleProcess> processes = neighbours();
  change(processes);
  const TemporaryDirectory directory;
  ExportResult result;
  EXPECT_TRUE(export_run(directory.path(), 2, processes, 1, result).is_ok());
  const Judgement judgement = judge(directory.path() + "/trace.otf2", "--no-print");
  EXPECT_EQ(judgement.exit_code, 1);
  return judgement.report["defects"];
}

TEST(Otf2Rma, TheJudgeFindsWhatIsWrong) {
  EXPECT_TRUE(defects_after([](std::vector<SampleProcess>& run) {
                auto& calls = run[0].process().locations[0];
                std::erase_if(calls, [](const auto& call) {
                  return call.call.enter_ns == 60 || call.call.enter_ns >= 80;
                });
              }).contains("one-sided"))
      << "an operation is never complete";
  EXPECT_TRUE(defects_after([](std::vector<SampleProcess>& run) {
                run[1].process().locations[0][3].facts[0].peer = 2;
              }).contains("one-sided"))
      << "a target that is not there";
  EXPECT_TRUE(defects_after([](std::vector<SampleProcess>& run) {
                auto& calls = run[1].process().locations[0];
                std::erase_if(calls, [](const auto& call) { return call.call.enter_ns == 80; });
              }).contains("one-sided"))
      << "a fence without the other member";
  EXPECT_TRUE(defects_after([](std::vector<SampleProcess>& run) {
                run[0].call("MPI_Win_unlock", 120, 130, {one_sided(FactKind::kUnlock, 2, 0)});
              }).contains("one-sided"))
      << "an unlock without a lock, after the window's end";
  EXPECT_TRUE(defects_after([](std::vector<SampleProcess>& run) {
                auto& fence = run[1].process().locations[0][6].call;
                fence.enter_ns = 95;
                fence.leave_ns = 99;
              }).contains("causality"))
      << "a fence is left before the other has entered it";
}

TEST(Otf2Rma, AThreadCompletesWhatAnotherIssued) {
  SampleProcess process(0, 1);
  const WinId window = process.add_window(5, "halo");
  const LocationId thread = process.add_thread("thread 1");
  process.call("MPI_Win_flush", 30, 40, {one_sided(FactKind::kFlush, window, 0)});
  process.call("MPI_Put", 10, 20, {one_sided(FactKind::kPut, window, 0, 8, 1)}, thread);
  process.call("MPI_Put", 35, 45, {one_sided(FactKind::kPut, window, 0, 8, 2)},
               thread);  // returns after the flush
  process.call("MPI_Win_unlock", 50, 60, {one_sided(FactKind::kUnlock, window, 0)}, thread);
  EXPECT_THAT(inner(events({process})),
              ElementsAre("RMA_OP_COMPLETE_NON_BLOCKING 40 Window: \"halo\" <0>, Matching: 1",
                          "RMA_OP_COMPLETE_REMOTE 40 Window: \"halo\" <0>, Matching: 1"));
  const Lines lines = inner(events({process}, 1ULL << 32));
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_THAT(lines[3],
              HasSubstr("RMA_OP_COMPLETE_NON_BLOCKING 60 Window: \"halo\" <0>, Matching: 2"));
}

TEST(Otf2Rma, WhatTheTraceDoesNotDefineIsLeftOut) {
  SampleProcess process(0, 1);
  process.call("MPI_Put", 10, 11, {one_sided(FactKind::kPut, 9, 0, 40, 7)});
  process.call("MPI_Win_fence", 20, 30, {one_sided(FactKind::kFence, kNoWin)});
  process.call("MPI_Wait", 40, 50, {of_request(FactKind::kRmaComplete, 7)});
  EXPECT_THAT(inner(events({process})), ::testing::IsEmpty());
}

}  // namespace
}  // namespace megascope::test
