#include "analysis/waits/wait_analysis.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using test::collective;
using test::recv;
using test::recv_complete;
using test::recv_request;
using test::SampleRun;
using test::send;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

/// What is found in a run made by hand.
struct Found {
  Matching matching;
  WaitAnalysis waits;
};

Found analyze(const SampleRun& run, const std::vector<std::int32_t>& missing = {}) {
  const auto source = run.source(missing);
  const MatchTables tables(*source);
  WaitStates states(tables);
  Found found{match_run(*source, tables, states, 1), {}};
  found.waits = analyze_waits(states, found.matching, tables, 1);
  return found;
}

std::vector<std::uint64_t> suffered(const Found& found) {
  std::vector<std::uint64_t> times;
  for (const RankWaits& rank : found.waits.ranks) times.push_back(rank.suffered_ns);
  return times;
}

std::vector<double> caused(const Found& found) {
  std::vector<double> times;
  for (const RankWaits& rank : found.waits.ranks) times.push_back(rank.caused_ns);
  return times;
}

std::vector<std::uint64_t> on_path(const Found& found) {
  std::vector<std::uint64_t> times;
  for (const RankWaits& rank : found.waits.ranks) times.push_back(rank.path_ns);
  return times;
}

WaitSum of_kind(const Found& found, WaitKind kind) {
  return found.waits.by_kind[static_cast<std::size_t>(kind)];
}

Fact collective_request(RequestId request, std::uint32_t sequence) {
  return test::with_request(FactKind::kCollectiveRequest, request, collective(sequence));
}
Fact collective_complete(RequestId request, std::uint32_t sequence) {
  return test::with_request(FactKind::kCollectiveComplete, request, collective(sequence));
}

TEST(Waits, AreNotFoundInATestWhoseEntryIsUncertain) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 100, {recv_request(1, 1, 7, 8)});
  run.spent(0, "MPI_Test", 1'000, 41'000, {recv_complete(1, 1, 7, 8)});
  run.process(0).last_call().uncertain_ns = 40'000;
  run.spent(1, "MPI_Send", 30'000, 31'000, {send(0, 7, 8)});
  run.finish(50'000);
  EXPECT_THAT(suffered(analyze(run)), ElementsAre(0U, 0U));
}

TEST(Waits, AReceiverWaitsForALateSender) {
  SampleRun run(2);
  run.spent(0, "MPI_Send", 100, 110, {send(1, 7)});
  run.spent(1, "MPI_Recv", 40, 120, {recv(0, 7)});
  const Found found = analyze(run.finish(200));
  EXPECT_EQ(found.matching.message_count, 1U);
  EXPECT_THAT(suffered(found), ElementsAre(0, 60));
  EXPECT_THAT(caused(found), ElementsAre(60, 0));
  EXPECT_EQ(of_kind(found, WaitKind::kLateSender).wait_ns, 60U);
}

TEST(Waits, ASenderWaitsForALateReceiver) {
  SampleRun run(2);
  run.spent(0, "MPI_Send", 10, 95, {send(1, 7)});
  run.spent(1, "MPI_Recv", 80, 100, {recv(0, 7)});
  const Found found = analyze(run.finish(200));
  EXPECT_THAT(suffered(found), ElementsAre(70, 0));
  EXPECT_THAT(caused(found), ElementsAre(0, 70));
  EXPECT_EQ(of_kind(found, WaitKind::kLateReceiver).wait_ns, 70U);
}

TEST(Waits, ASendThatHadLeftDidNotWait) {
  SampleRun run(2);
  run.spent(0, "MPI_Send", 10, 20, {send(1, 7)});
  run.spent(1, "MPI_Recv", 80, 100, {recv(0, 7)});
  EXPECT_THAT(suffered(analyze(run.finish(200))), ElementsAre(0, 0));
}

TEST(Waits, ARequestMayBeCompletedByAnotherThread) {
  SampleRun run(2, 2);
  for (std::uint64_t i = 0; i < 5; ++i)
    run.spent(1, "MPI_Probe", 1 + i, 2 + i, {}, 0);  // stops of the thread that starts it
  run.call(1, "MPI_Irecv", 10, {recv_request(1, 0, 7)})
      .call(1, "MPI_Iallreduce", 12, {collective_request(2, 0)});
  run.spent(0, "MPI_Send", 100, 110, {send(1, 7)});
  run.spent(1, "MPI_Wait", 40, 120, {recv_complete(1, 0, 7)}, 1);
  run.call(0, "MPI_Iallreduce", 200, {collective_request(3, 0)})
      .spent(0, "MPI_Wait", 210, 220, {collective_complete(3, 0)});
  run.spent(1, "MPI_Wait", 150, 230, {collective_complete(2, 0)}, 1);
  const Found found = analyze(run.finish(300));
  EXPECT_EQ(found.matching.message_count, 1U);
  EXPECT_EQ(found.matching.collective_count, 1U);
  EXPECT_THAT(suffered(found), ElementsAre(0, 60 + 50));
  EXPECT_EQ(of_kind(found, WaitKind::kLateSender).wait_ns, 60U);
}

TEST(Waits, ACompletionWaitsForTheLastOfItsMessages) {
  SampleRun run(3);
  run.call(0, "MPI_Irecv", 10, {recv_request(1, 1, 7)})
      .call(0, "MPI_Irecv", 12, {recv_request(2, 2, 7)});
  run.spent(0, "MPI_Waitall", 20, 100, {recv_complete(1, 1, 7), recv_complete(2, 2, 7)});
  run.spent(1, "MPI_Send", 90, 95, {send(0, 7)}).spent(2, "MPI_Send", 50, 55, {send(0, 7)});
  const Found found = analyze(run.finish(200));
  EXPECT_THAT(suffered(found), ElementsAre(70, 0, 0));
  EXPECT_THAT(caused(found), ElementsAre(0, 70, 0));
}

TEST(Waits, ATestDoesNotWait) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 10, {recv_request(1, 1, 7)});
  run.spent(0, "MPI_Test", 40, 60, {recv_complete(1, 1, 7)});
  run.spent(1, "MPI_Send", 50, 55, {send(0, 7)});
  EXPECT_THAT(suffered(analyze(run.finish(200))), ElementsAre(0, 0));
}

TEST(Waits, ABarrierIsLeftAfterTheLastOneEntered) {
  SampleRun run(3);
  const std::uint64_t enters[] = {10, 50, 90};
  for (const std::int32_t rank : {0, 1, 2}) {
    run.spent(rank, "MPI_Barrier", enters[rank], 95, {collective(0)});
  }
  const Found found = analyze(run.finish(200));
  EXPECT_THAT(suffered(found), ElementsAre(80, 40, 0));
  EXPECT_THAT(caused(found), ElementsAre(0, 0, 120));
  EXPECT_EQ(of_kind(found, WaitKind::kBarrier).count, 2U);
  const CollectiveCost cost = found.waits.collectives.begin()->second;
  EXPECT_EQ(cost.wire_ns, 5U);
  EXPECT_EQ(cost.skew_ns, 80U + 40U);
}

TEST(Waits, OfABroadcastAllWaitForTheRootAndOfAReductionTheRootForAll) {
  SampleRun run(3);
  const std::uint64_t enters[] = {10, 50, 30};
  for (const std::int32_t rank : {0, 1, 2}) {
    run.spent(rank, "MPI_Bcast", enters[rank], 60, {collective(0, 1)});
    run.spent(rank, "MPI_Reduce", 100 + enters[rank], 160, {collective(1, 0)});
  }
  const Found found = analyze(run.finish(200));
  EXPECT_EQ(of_kind(found, WaitKind::kLateBroadcast).wait_ns, 40U + 20U);
  EXPECT_EQ(of_kind(found, WaitKind::kEarlyReduce).wait_ns, 40U);
  EXPECT_THAT(suffered(found), ElementsAre(40 + 40, 0, 20));
}

TEST(Waits, OfAScanARankWaitsForThoseBelow) {
  SampleRun run(3);
  const std::uint64_t enters[] = {50, 10, 90};
  for (const std::int32_t rank : {0, 1, 2})
    run.spent(rank, "MPI_Scan", enters[rank], 95, {collective(0)});
  EXPECT_THAT(suffered(analyze(run.finish(200))), ElementsAre(0, 40, 0));
}

TEST(Waits, ANonblockingCollectiveIsWaitedForWhereItCompletes) {
  SampleRun run(2);
  run.call(0, "MPI_Ibarrier", 10, {collective_request(1, 0)})
      .spent(0, "MPI_Wait", 30, 80, {collective_complete(1, 0)});
  run.call(1, "MPI_Ibarrier", 70, {collective_request(1, 0)})
      .spent(1, "MPI_Wait", 75, 85, {collective_complete(1, 0)});
  const Found found = analyze(run.finish(200));
  EXPECT_EQ(found.matching.collective_count, 1U);
  EXPECT_THAT(suffered(found), ElementsAre(40, 0));
}

/// Rank 0 computes long; rank 1 waits for it, computes 5 ns more than rank 2, and is waited for.
SampleRun chain() {
  SampleRun run(3);
  for (const std::int32_t rank : {0, 1, 2}) run.spent(rank, "MPI_Barrier", 1, 2, {collective(0)});
  run.spent(0, "MPI_Send", 100, 101, {send(1, 7)});
  run.spent(1, "MPI_Recv", 10, 102, {recv(0, 7)}).spent(1, "MPI_Send", 107, 108, {send(2, 7)});
  run.spent(2, "MPI_Recv", 12, 109, {recv(1, 7)});
  return run;
}

TEST(Waits, AreCarriedBackToTheirCause) {
  const Found found = analyze(chain().finish(200));
  EXPECT_THAT(suffered(found), ElementsAre(0, 90, 95));
  // Since the barrier rank 1 took 105 ns to its send, 90 of them waiting, rank 2 10 ns to its
  // receive: of 95 ns of waiting 5 are rank 1's delay, and 90 go on to what it waited for.
  EXPECT_THAT(caused(found),
              ElementsAre(DoubleNear(180, 1e-9), DoubleNear(5, 1e-9), DoubleNear(0, 1e-9)));
}

TEST(Waits, TheCriticalPathFollowsThem) {
  SampleRun run = chain();
  run.spent(2, "MPI_Comm_rank", 120, 150);
  const Found found = analyze(run);
  // Backwards: rank 2 from 150 to 107, where its message was sent; rank 1 to 100; rank 0 from there
  // to its first call.
  EXPECT_THAT(on_path(found), ElementsAre(99, 7, 43));
  EXPECT_EQ(found.waits.path.length_ns, 149U);
}

TEST(Waits, TheIntervalBeginsWhereTheTwoMetLast) {
  SampleRun run(2);
  // The first message comes 1000 ns late, the second after equal work on both sides, late by
  // nothing but the first.
  run.spent(0, "MPI_Send", 1010, 1011, {send(1, 7)}).spent(0, "MPI_Send", 1111, 1112, {send(1, 7)});
  run.spent(1, "MPI_Recv", 10, 1015, {recv(0, 7)}).spent(1, "MPI_Recv", 1105, 1120, {recv(0, 7)});
  const Found found = analyze(run.finish(2000));
  EXPECT_THAT(suffered(found), ElementsAre(0, 1006));
  EXPECT_THAT(caused(found), ElementsAre(DoubleNear(1006, 1e-9), DoubleNear(0, 1e-9)));
}

TEST(Waits, WhatIsCausedIsWhatIsSuffered) {
  SampleRun run(4);
  std::uint64_t times[4] = {0, 0, 0, 0};
  for (std::uint32_t step = 0; step < 50; ++step) {
    std::uint64_t last = 0;
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      times[rank] += 100 + (step * 37 + static_cast<std::uint32_t>(rank) * 61) % 53;
      last = std::max(last, times[rank]);
    }
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      run.spent(rank, "MPI_Allreduce", times[rank], last + 3, {collective(step)});
      times[rank] = last + 3;
    }
  }
  const Found found = analyze(run.finish(100'000));
  double all = 0;
  for (const double time : caused(found)) all += time;
  EXPECT_NEAR(all, static_cast<double>(found.waits.suffered_ns), 1e-6);
  EXPECT_GT(found.waits.suffered_ns, 0U);
}

TEST(Waits, GoOnWithoutAMissingRank) {
  const Found found = analyze(chain().finish(200), {0});
  EXPECT_THAT(suffered(found), ElementsAre(0, 95));
  EXPECT_EQ(found.matching.unmatched_receives[static_cast<std::size_t>(Unmatched::kNoTrace)], 1U);
  EXPECT_EQ(found.matching.partial_collectives[static_cast<std::size_t>(Unmatched::kNoTrace)], 1U);
}

TEST(Waits, OneRankAndNoMessagesAreNothing) {
  SampleRun run(1);
  run.call(0, "MPI_Comm_rank", 5);
  const Found found = analyze(run.finish(10));
  EXPECT_EQ(found.matching.unmatched(), 0U);
  EXPECT_EQ(found.waits.suffered_ns, 0U);
}

}  // namespace
}  // namespace megascope::analysis
