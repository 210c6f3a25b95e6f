#include "analysis/hang/hang.h"

#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using test::recv;
using test::recv_complete;
using test::recv_request;
using test::request_test;
using test::SampleRun;
using test::send;
using test::send_request;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Found {
  std::unique_ptr<MemorySource> source;
  std::unique_ptr<CommTable> comms;
  HangReport report;

  std::vector<std::vector<std::int32_t>> found_cycles() const {
    std::vector<std::vector<std::int32_t>> all;
    for (const auto& cycle : report.cycles) {
      all.emplace_back();
      for (const CycleStep& step : cycle) all.back().push_back(step.world_rank);
    }
    return all;
  }
};

Found found_in(const SampleRun& run, const std::vector<std::int32_t>& missing = {}) {
  Found found;
  found.source = run.source(missing);
  found.comms = std::make_unique<CommTable>(*found.source);
  found.report = analyze_hang(
      *found.source, *found.comms, [](const ProcessInfo&) { return Existence::kUnknown; }, 2);
  return found;
}

TEST(Hang, ReceivesFromEachOtherAreACycle) {
  SampleRun run(2);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).in(1, "MPI_Recv", 20, {recv(0, 5)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, AMessageThatWasSentIsNotWaitedFor) {
  SampleRun run(2);
  run.call(1, "MPI_Send", 5, {send(0, 5)});
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).in(1, "MPI_Recv", 20, {recv(0, 5)});
  const Found found = found_in(run);
  EXPECT_THAT(found.found_cycles(), IsEmpty());
  EXPECT_TRUE(found.report.waiting[0].wants[0].is_met);
}

TEST(Hang, AMessageThatWasReceivedBeforeDoesNotCountTwice) {
  SampleRun run(2);
  run.call(1, "MPI_Send", 5, {send(0, 5)}).call(0, "MPI_Recv", 6, {recv(1, 5)});
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).in(1, "MPI_Recv", 20, {recv(0, 5)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, AnEarlierReceiveTakesTheMessageFirst) {
  SampleRun run(2);
  run.call(1, "MPI_Send", 5, {send(0, 5)}).call(0, "MPI_Irecv", 6, {recv_request(1, 1, 5)});
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).in(1, "MPI_Recv", 20, {recv(0, 5)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, AnySourceIsHelpedByAnybody) {
  SampleRun run(3);
  run.in(0, "MPI_Recv", 10, {recv(kAnySource, kAnyTag)}).in(1, "MPI_Recv", 10, {recv(0, 5)});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty()) << "rank 2 may send";
  run.in(2, "MPI_Recv", 10, {recv(1, 5)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
  auto& calls = run.process(1).process().locations[0];
  calls.insert(calls.begin(),
               {{.enter_ns = 1, .leave_ns = 2, .region = 2, .facts = {}}, {send(0, 3)}, {}});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty()) << "a message of any tag was sent";
}

TEST(Hang, ASmallNonblockingSendIsNotWaitedForBesideAReceive) {
  SampleRun run(3);
  run.call(0, "MPI_Isend", 1, {send_request(1, 1, 4)})
      .call(0, "MPI_Irecv", 2, {recv_request(2, 2, 4)});
  run.in(0, "MPI_Waitall", 10, {request_test(2)}).in(1, "MPI_Recv", 10, {recv(0, 9)});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty()) << "rank 2 may send what rank 0 waits for";
}

TEST(Hang, ASynchronousSendIsWaitedFor) {
  SampleRun run(3);
  run.call(0, "MPI_Issend", 1, {send_request(1, 1, 4)})
      .call(0, "MPI_Irecv", 2, {recv_request(2, 2, 4)});
  run.in(0, "MPI_Waitall", 10, {request_test(2)}).in(1, "MPI_Recv", 10, {recv(0, 9)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, ASendWhoseReceiveIsPostedIsMet) {
  SampleRun run(2);
  run.call(1, "MPI_Irecv", 1, {recv_request(1, 0, kAnyTag)});
  run.in(0, "MPI_Ssend", 10, {send(1, 4)}).in(1, "MPI_Recv", 10, {recv(0, 9)});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty());
}

TEST(Hang, WaitingForAnyNeedsAllToBeStuck) {
  SampleRun run(3);
  run.call(0, "MPI_Irecv", 1, {recv_request(1, 1, 4)})
      .call(0, "MPI_Irecv", 2, {recv_request(2, 2, 4)});
  run.in(0, "MPI_Waitany", 10, {request_test(2)}).in(1, "MPI_Recv", 10, {recv(0, 9)});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty());
  run.in(2, "MPI_Recv", 10, {recv(0, 9)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, CompletedRequestsAreNotWaitedFor) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 1, {recv_request(1, 1, 4)}).call(1, "MPI_Send", 2, {send(0, 4)});
  run.call(0, "MPI_Wait", 3, {recv_complete(1, 1, 4)})
      .call(0, "MPI_Irecv", 4, {recv_request(2, 1, 4)});
  run.in(0, "MPI_Wait", 5, {request_test(1)});
  const Found found = found_in(run);
  ASSERT_THAT(found.report.waiting, SizeIs(1));
  ASSERT_THAT(found.report.waiting[0].wants, SizeIs(1));
  EXPECT_EQ(found.report.waiting[0].wants[0].request, 2U);
  EXPECT_FALSE(found.report.waiting[0].wants[0].is_met);
  ASSERT_THAT(found.report.awaited_ranks, SizeIs(1));
  EXPECT_EQ(found.report.awaited_ranks[0].world_rank, 1);
}

TEST(Hang, TheRootOfABroadcastIsWaitedForFirst) {
  SampleRun run(3);
  run.collective(0, "MPI_Bcast", 10, 0, 0, 1, 8, true).in(1, "MPI_Recv", 10, {recv(0, 1)});
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)))
      << "rank 2 does not matter";
}

TEST(Hang, AFinishedRankIsAnnotatedAndNoCycle) {
  SampleRun run(2);
  run.in(0, "MPI_Recv", 10, {recv(1, 1)}).call(1, "MPI_Finalize", 12);
  const Found found = found_in(run);
  EXPECT_THAT(found.found_cycles(), IsEmpty());
  EXPECT_EQ(found.report.stuck_count(), 1U);
  EXPECT_EQ(found.report.rank_ends[1], RankEnd::kFinalized);
  EXPECT_EQ(found.report.awaited_ranks.at(0).world_rank, 1);
}

TEST(Hang, WhoHasNoTraceIsNotAccused) {
  SampleRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank)
    run.in(rank, "MPI_Recv", 10, {recv((rank + 1) % 3, 1)});
  const Found found = found_in(run, {1});
  EXPECT_THAT(found.found_cycles(), IsEmpty());
  EXPECT_EQ(found.report.rank_ends[1], RankEnd::kMissing);
  EXPECT_FALSE(found.report.waiting[0].wants[0].is_known);
}

TEST(Hang, AThreadOutsideOfMpiCanHelp) {
  SampleRun run(2, /*thread_count=*/2);
  run.call(1, "MPI_Comm_size", 1, {}, 1);
  run.in(0, "MPI_Recv", 10, {recv(1, 1)}).in(1, "MPI_Recv", 10, {recv(0, 1)});
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty());
  run.process(1).definitions().locations[1].has_ended = true;
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(Hang, ARankWhoseBufferWasFullMayBeElsewhere) {
  SampleRun run(2);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).in(1, "MPI_Recv", 20, {recv(0, 5)});
  run.process(1).definitions().losses[static_cast<std::size_t>(LossCause::kBufferFull)] = 7;
  EXPECT_THAT(found_in(run).found_cycles(), IsEmpty());
  run.process(1).definitions().locations[0].lacks_beginning = true;
  EXPECT_THAT(found_in(run).found_cycles(), ElementsAre(ElementsAre(0, 1)))
      << "policy flight keeps the end";
}

TEST(Hang, ALockOfAWindowWaitsForNoMessage) {
  SampleRun run(2);
  run.in(1, "MPI_Win_lock", 10, {{.kind = FactKind::kLock, .comm = 0, .peer = 0, .tag = 0}})
      .call(0, "MPI_Init", 1);
  const Found found = found_in(run);
  ASSERT_THAT(found.report.waiting, SizeIs(1));
  EXPECT_THAT(found.report.waiting[0].wants, IsEmpty());
}

TEST(Hang, PollsCountAllTestsOfARun) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 1, {recv_request(1, 1, 4)})
      .call(0, "MPI_Test", 5)
      .call(0, "MPI_Test", 9);
  run.process(0).last_call().count = 40;
  run.call(1, "MPI_Init", 1);
  const Found found = found_in(run);
  ASSERT_THAT(found.report.waiting, SizeIs(1));
  EXPECT_TRUE(found.report.waiting[0].is_polling);
  EXPECT_EQ(found.report.processes.states[0].threads[0].poll_count, 41U);
  EXPECT_EQ(found.report.processes.states[0].threads[0].poll_since_ns, 5U);
}

std::vector<std::string> functions_of(const Mismatch& mismatch) {
  std::vector<std::string> names;
  for (const Mismatch::Participant& participant : mismatch.participants)
    names.emplace_back(participant.shape.function);
  return names;
}

TEST(Mismatches, AnotherFunctionAtTheSameNumber) {
  SampleRun run(4);
  const CommId dp = run.comm("dp", {0, 2, 3});
  for (const std::int32_t rank : {0, 2, 3}) {
    for (std::uint32_t i = 0; i < 100; ++i) {
      run.collective(rank, rank == 2 && i == 17 ? "MPI_Bcast" : "MPI_Allreduce", 10 * i, dp, i,
                     rank == 2 && i == 17 ? 1 : kNoPeer, 8);
    }
  }
  const Found found = found_in(run);
  ASSERT_THAT(found.report.mismatches, SizeIs(1));
  const Mismatch& mismatch = found.report.mismatches[0];
  EXPECT_EQ(mismatch.sequence, 17U);
  EXPECT_EQ(mismatch.what, Mismatch::What::kFunction);
  EXPECT_THAT(functions_of(mismatch), ElementsAre("MPI_Allreduce", "MPI_Bcast"));
  EXPECT_THAT(mismatch.participants[1].world_ranks, ElementsAre(2));
}

TEST(Mismatches, RootsAndBytes) {
  SampleRun roots(2);
  roots.collective(0, "MPI_Bcast", 1, 0, 0, 0, 8).collective(1, "MPI_Bcast", 1, 0, 0, 1, 8);
  EXPECT_EQ(found_in(roots).report.mismatches.at(0).what, Mismatch::What::kRoot);
  SampleRun bytes(2);
  bytes.collective(0, "MPI_Bcast", 1, 0, 0, 0, 8).collective(1, "MPI_Bcast", 1, 0, 0, 0, 12);
  EXPECT_EQ(found_in(bytes).report.mismatches.at(0).what, Mismatch::What::kBytes);
}

TEST(Mismatches, InPlaceIsNoOtherSize) {
  SampleRun run(4);  // blocks of 8: 32 bytes received, in place 24
  for (std::int32_t rank = 0; rank < 4; ++rank)
    run.collective(rank, "MPI_Allreduce", 1, 0, 0, kNoPeer, rank == 0 ? 24 : 32);
  EXPECT_THAT(found_in(run).report.mismatches, IsEmpty());
}

TEST(Mismatches, OneThatIsBehindIsNone) {
  SampleRun run(3);
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    for (std::uint32_t i = 0; i < (rank == 1 ? 5U : 500U); ++i)
      run.collective(rank, "MPI_Bcast", 10 * i, 0, i, 0, 8);
  }
  EXPECT_THAT(found_in(run).report.mismatches, IsEmpty());
  run.finish(10'000);
  const Found found = found_in(run);
  ASSERT_THAT(found.report.mismatches, SizeIs(1));
  EXPECT_EQ(found.report.mismatches[0].what, Mismatch::What::kCount);
  EXPECT_EQ(found.report.mismatches[0].participants[1].count, 5U);
}

TEST(Mismatches, IntercommunicatorsNameRootsDifferently) {
  SampleRun run(3);
  const CommId both = run.comm("both", {0, 1}, {2});
  run.collective(0, "MPI_Bcast", 1, both, 0, kSelfRoot, 8)
      .collective(1, "MPI_Bcast", 1, both, 0, kProcNullRoot);
  run.collective(2, "MPI_Bcast", 1, both, 0, 0, 8);
  EXPECT_THAT(found_in(run).report.mismatches, IsEmpty());
}

TEST(Mismatches, CommunicatorsMadeOutOfSightAreNotCompared) {
  SampleRun run(2);
  const CommId unseen = run.comm("unseen", {0, 1});
  for (std::int32_t rank = 0; rank < 2; ++rank)
    run.process(rank).definitions().comms[unseen].parent = kNoComm;
  run.collective(0, "MPI_Bcast", 1, unseen, 0, 0, 8).collective(1, "MPI_Barrier", 1, unseen, 0);
  EXPECT_THAT(found_in(run).report.mismatches, IsEmpty());
}

TEST(Hang, TenThousandRanksAreQuick) {
  constexpr std::int32_t kSize = 10'000;
  SampleRun run(kSize);
  for (std::int32_t rank = 0; rank < kSize; ++rank) {
    for (std::uint32_t i = 0; i < 3; ++i)
      run.collective(rank, "MPI_Allreduce", 10 * i, 0, i, kNoPeer, 8);
    if (rank == 77)
      run.in(rank, "MPI_Recv", 100, {recv(78, 1)});
    else
      run.collective(rank, "MPI_Allreduce", 100, 0, 3, kNoPeer, 8, true);
  }
  const Found found = found_in(run);
  EXPECT_THAT(found.found_cycles(), ElementsAre(ElementsAre(77, 78)));
  EXPECT_EQ(found.report.stuck_count(), static_cast<std::size_t>(kSize));
}

}  // namespace
}  // namespace megascope::analysis
