#include "analysis/match/match.h"

#include "tests/analysis/random_program.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

#include <mutex>

namespace megascope::analysis {
namespace {

using test::collective;
using test::of_request;
using test::recv;
using test::recv_complete;
using test::recv_request;
using test::SampleRun;
using test::send;

/// Judges what is matched by the truth: messages of random programs carry their own number as
/// bytes, so do collectives.
class Judge final : public MatchSink {
 public:
  void begin(std::size_t) override {}
  void add_wait_point(Track, const WaitPoint&) override {}
  void add_message(std::size_t, const MessageEnd& send, const MessageEnd& receive) override {
    const std::lock_guard lock(mutex_);
    right_messages += send.bytes == receive.bytes ? 1 : 0;
  }
  void add_collective(std::size_t, const Collective& collective) override {
    const std::lock_guard lock(mutex_);
    right_collectives += collective.is_whole ? 1 : 0;
  }
  void end_window() override {}

  std::uint64_t right_messages = 0;
  std::uint64_t right_collectives = 0;

 private:
  std::mutex mutex_;
};

struct Judged {
  Matching matching;
  std::uint64_t right_messages = 0;
  std::uint64_t right_collectives = 0;
};

Judged judge(const RecordSource& source, unsigned jobs = 1) {
  const MatchTables tables(source);
  Judge judge;
  Judged result{match_run(source, tables, judge, jobs)};
  result.right_messages = judge.right_messages;
  result.right_collectives = judge.right_collectives;
  return result;
}

std::uint64_t count(const std::uint64_t* counts, Unmatched why) {
  return counts[static_cast<std::size_t>(why)];
}

TEST(Match, AllOfRandomProgramsAtAnySkew) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    for (const std::uint64_t skew_ns : {0U, 200'000U, 20'000'000U}) {
      const RandomProgram program = random_program(seed, skew_ns);
      const Judged result = judge(*program.source, seed % 3 + 1);
      EXPECT_EQ(result.matching.message_count, program.message_count) << "seed " << seed;
      EXPECT_EQ(result.right_messages, program.message_count) << "seed " << seed;
      EXPECT_EQ(result.right_collectives, program.collective_count) << "seed " << seed;
      EXPECT_EQ(result.matching.unmatched(), 0U) << "seed " << seed;
      EXPECT_EQ(result.matching.mismatch_count, 0U) << "seed " << seed;
    }
  }
}

TEST(Match, MemoryIsWhatIsInFlight) {
  SampleRun run(2);
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    run.call(0, "MPI_Send", 1000 * i, {send(1, 7)});
    run.call(1, "MPI_Recv", 1000 * i + 10, {recv(0, 7)});
  }
  const Judged result = judge(*run.finish(200'000'000).source());
  EXPECT_EQ(result.matching.message_count, 100'000U);
  EXPECT_LT(result.matching.max_in_flight, 10U);
}

TEST(Match, ACancelledReceiveDoesNotCount) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 1, {recv_request(1, 1, 7)})
      .call(0, "MPI_Irecv", 3, {recv_request(2, 1, 7)});
  run.call(0, "MPI_Wait", 5, {of_request(FactKind::kCancelled, 1)});
  run.call(0, "MPI_Wait", 7, {recv_complete(2, 1, 7)});
  run.call(1, "MPI_Send", 4, {send(0, 7)});
  const Judged result = judge(*run.finish(10).source());
  EXPECT_EQ(result.matching.message_count, 1U);
  EXPECT_EQ(result.matching.unmatched(), 0U);
}

TEST(Match, AWildcardThatNeverCompletesKeepsNoneBack) {
  SampleRun run(2);
  run.call(0, "MPI_Irecv", 1, {recv_request(1, kAnySource, kAnyTag)});
  for (std::uint64_t i = 0; i < 100; ++i) {
    run.call(0, "MPI_Recv", 10 + 10 * i, {recv(1, 7)});
    run.call(1, "MPI_Send", 9 + 10 * i, {send(0, 7)});
  }
  EXPECT_EQ(judge(*run.finish(2000).source()).matching.message_count, 100U);
}

TEST(Match, SaysWhyAnEndHasNoOther) {
  SampleRun run(4);
  run.call(0, "MPI_Send", 1, {send(1, 7)})
      .call(0, "MPI_Send", 3, {send(2, 7)})
      .call(0, "MPI_Send", 5, {send(3, 7)});
  run.call(0, "MPI_Send", 7, {send(0, 7)});
  run.finish(20);
  run.process(2).definitions().info.end_state = EndState::kRunning;
  run.process(3).definitions().losses[static_cast<std::size_t>(LossCause::kBufferFull)] = 5;
  const Matching matching = judge(*run.source({1})).matching;
  EXPECT_EQ(count(matching.unmatched_sends, Unmatched::kNoTrace), 1U);
  EXPECT_EQ(count(matching.unmatched_sends, Unmatched::kEnded), 1U);
  EXPECT_EQ(count(matching.unmatched_sends, Unmatched::kLost), 1U);
  EXPECT_EQ(count(matching.unmatched_sends, Unmatched::kNoPartner), 1U);
}

TEST(Match, NamesTheFirstCollectiveThatMembersCallDifferently) {
  SampleRun run(3);
  for (const std::int32_t rank : {0, 1, 2}) {
    run.collective(rank, "MPI_Barrier", 10, 0, 0);
    run.collective(rank, rank == 1 ? "MPI_Bcast" : "MPI_Allreduce", 20, 0, 1,
                   rank == 1 ? 0 : kNoPeer, 8);
    run.collective(rank, "MPI_Bcast", 30, 0, 2, rank == 2 ? 1 : 0, 8);
  }
  const auto source = run.finish(40).source();  // which names point into
  const Matching matching = judge(*source).matching;
  EXPECT_EQ(matching.mismatch_count, 2U);
  ASSERT_EQ(matching.mismatches.size(), 1U);
  const Mismatch& mismatch = matching.mismatches.front();
  EXPECT_EQ(mismatch.what, Mismatch::What::kFunction);
  EXPECT_EQ(mismatch.sequence, 1U);
  EXPECT_THAT(mismatch.participants.front().world_ranks, ::testing::ElementsAre(0, 2));
  EXPECT_EQ(mismatch.participants.back().shape.function, "MPI_Bcast");
}

TEST(Match, NamesTheMemberThatMakesFewerCollectives) {
  SampleRun run(3);
  for (const std::int32_t rank : {0, 1, 2}) {
    for (std::uint32_t number = 0; number < (rank == 1 ? 2U : 3U); ++number)
      run.collective(rank, "MPI_Bcast", 10 * number + 5, 0, number, 0, 8);
  }
  const Matching matching = judge(*run.finish(40).source()).matching;
  ASSERT_EQ(matching.mismatches.size(), 1U);
  EXPECT_EQ(matching.mismatches.front().what, Mismatch::What::kCount);
  EXPECT_THAT(matching.mismatches.front().participants.back().world_ranks,
              ::testing::ElementsAre(1));
}

TEST(Match, GroupsOfAnIntercommunicatorMatch) {
  SampleRun run(4);
  const CommId inter = run.comm("inter", {0, 1}, {2, 3});
  run.call(0, "MPI_Send", 1, {send(1, 7, 8, inter)});  // to rank 1 of the other group: world rank 3
  run.call(3, "MPI_Recv", 1, {recv(0, 7, 8, inter)});
  for (const std::int32_t rank : {0, 1, 2, 3}) run.collective(rank, "MPI_Barrier", 10, inter, 0);
  const Matching matching = judge(*run.finish(20).source()).matching;
  EXPECT_EQ(matching.message_count, 1U);
  EXPECT_EQ(matching.collective_count, 1U);
  EXPECT_EQ(matching.unmatched(), 0U);
}

TEST(Match, ARankThatDiedLeavesItsCollectivesPartial) {
  SampleRun run(2);
  for (std::uint32_t number = 0; number < 3; ++number)
    run.collective(0, "MPI_Barrier", 10 * number + 5, 0, number);
  run.in(0, "MPI_Barrier", 50, {collective(3)});
  for (std::uint32_t number = 0; number < 3; ++number)
    run.collective(1, "MPI_Barrier", 10 * number + 5, 0, number);
  const Matching matching = judge(*run.source()).matching;
  EXPECT_EQ(matching.collective_count, 3U);
  EXPECT_EQ(count(matching.partial_collectives, Unmatched::kEnded), 1U);
  EXPECT_EQ(matching.mismatch_count, 0U);
}

}  // namespace
}  // namespace megascope::analysis
