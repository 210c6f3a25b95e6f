#include "analysis/advice/rules.h"

#include "analysis/advice/advice.h"

#include <gmock/gmock.h>

namespace megascope::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

/// Ranks of one second each on one host; communicator 0 has all of them, function 0 is named
/// "MPI_F".
Facts facts_of(std::size_t rank_count) {
  Facts facts;
  facts.functions = {"MPI_F"};
  facts.comms = {{"`world`", static_cast<std::int32_t>(rank_count)}};
  facts.sites = {"solve (heat.c:42)"};
  for (std::size_t i = 0; i < rank_count; ++i) {
    RankFacts& rank = facts.ranks.emplace_back();
    rank.world_rank = static_cast<std::int32_t>(i);
    rank.host = "n0";
    rank.wall_ns = kSecond_ns;
  }
  facts.wall_ns = rank_count * kSecond_ns;
  return facts;
}

Row row(Pattern pattern, std::uint64_t count, double share, std::uint64_t bytes = 0) {
  return {.pattern = pattern,
          .function = 0,
          .comm = 0,
          .count = count,
          .root_count = count,
          .time_ns = static_cast<std::uint64_t>(share * static_cast<double>(kSecond_ns)),
          .bytes = bytes};
}

void add_to_all(Facts& facts, const Row& added) {
  for (RankFacts& rank : facts.ranks) rank.rows.push_back(added);
}

WaitedFor waited(std::uint64_t count, double seconds, std::uint32_t waiters) {
  return {count, static_cast<std::uint64_t>(seconds * static_cast<double>(kSecond_ns)), waiters};
}

WaitedFor& of_kind(RankFacts& rank, Waiting kind) {
  return rank.waited_for[static_cast<std::size_t>(kind)];
}

Findings found_by(void (*rule)(const Facts&, Findings&), const Facts& facts) {
  Findings found;
  rule(facts, found);
  return found;
}

TEST(SmallMessages, AreReportedWithTheirReceiversTime) {
  Facts facts = facts_of(4);
  facts.ranks[0].rows.push_back(row(Pattern::kSmallSends, 80'000, 0.4, 640'000));
  facts.ranks[1].rows.push_back(row(Pattern::kSmallReceives, 80'000, 0.2, 640'000));
  const Findings found = found_by(find_small_messages, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].count, 80'000U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.15);
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(
      found[0].text,
      "80 k messages of 8 B on average go one after the other to the same rank; rank 0 sends them "
      "in MPI_F on `world`; sending and receiving them takes 15 % of the run.");
}

TEST(SmallMessages, AreNotReportedWhereTheyAreFewOrCostNothing) {
  Facts facts = facts_of(2);
  facts.ranks[0].rows.push_back(row(Pattern::kSmallSends, 999, 0.4));
  EXPECT_THAT(found_by(find_small_messages, facts), IsEmpty());
  facts.ranks[0].rows = {row(Pattern::kSmallSends, 80'000, 0.0099)};  // 0.495 % of two ranks' time
  EXPECT_THAT(found_by(find_small_messages, facts), IsEmpty());
}

TEST(SmallMessages, NameTheCallSite) {
  Facts facts = facts_of(2);
  facts.ranks[0].rows.push_back(row(Pattern::kSmallSends, 5000, 0.4));
  facts.ranks[0].rows[0].site = 0;
  EXPECT_THAT(found_by(find_small_messages, facts).at(0).text,
              HasSubstr("in MPI_F at solve (heat.c:42)"));
}

TEST(GatherBcast, OfOneValueIsAnAllreduceAndOfAllValuesAnAllgather) {
  Facts facts = facts_of(4);
  Row pair = row(Pattern::kGatherBcast, 100, 0.1, 800);
  pair.bytes_before = 800;
  add_to_all(facts, pair);
  EXPECT_THAT(found_by(find_gather_bcast, facts).at(0).remedy, HasSubstr("MPI_Allreduce"));
  for (RankFacts& rank : facts.ranks) rank.rows[0].bytes = 4 * 800;
  EXPECT_THAT(found_by(find_gather_bcast, facts).at(0).remedy, HasSubstr("MPI_Allgather"));
}

TEST(GatherBcast, IsNotReportedWhereTheRootWorksInBetween) {
  Facts facts = facts_of(4);
  Row pair = row(Pattern::kReduceBcast, 100, 0.1);
  pair.root_count = 0;
  add_to_all(facts, pair);
  facts.ranks[2].rows[0].root_count = 49;
  EXPECT_THAT(found_by(find_gather_bcast, facts), IsEmpty());
  facts.ranks[2].rows[0].root_count = 50;
  EXPECT_EQ(found_by(find_gather_bcast, facts).size(), 1U);
}

TEST(BcastRuns, AreReportedFromAHundredOn) {
  Facts facts = facts_of(4);
  add_to_all(facts, row(Pattern::kBcastRun, 100, 0.1));
  EXPECT_EQ(found_by(find_bcast_runs, facts).at(0).count, 100U);
  for (RankFacts& rank : facts.ranks) rank.rows[0].count = 99;
  EXPECT_THAT(found_by(find_bcast_runs, facts), IsEmpty());
}

TEST(Barriers, AreReportedButForWhatIsWaitedForOneLateRank) {
  Facts facts = facts_of(4);
  add_to_all(facts, row(Pattern::kBarrier, 50, 0.1));
  EXPECT_DOUBLE_EQ(found_by(find_barriers, facts).at(0).share, 0.1);
  of_kind(facts.ranks[2], Waiting::kBarrier) = waited(150, 0.39, 3);
  EXPECT_THAT(found_by(find_barriers, facts), IsEmpty());
}

TEST(TinyCollectives, AreJudgedByTheTimeWithoutWaiting) {
  Facts facts = facts_of(4);
  add_to_all(facts, row(Pattern::kTinyCollective, 1000, 0.5, 8000));
  facts.tiny_wires[{0, 0}] = {1000, static_cast<std::uint64_t>(0.04 * kSecond_ns)};
  EXPECT_THAT(found_by(find_tiny_collectives, facts), IsEmpty()) << "1 % that cannot be combined";
  add_to_all(facts, row(Pattern::kTinyFollower, 250, 0.1, 2000));
  const Findings found = found_by(find_tiny_collectives, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.01);
  EXPECT_THAT(found[0].text, HasSubstr("250 of them directly follow another one"));
  facts.tiny_wires[{0, 0}].member_ns = static_cast<std::uint64_t>(0.019 * kSecond_ns);
  EXPECT_THAT(found_by(find_tiny_collectives, facts), IsEmpty())
      << "the rest is waiting for others";
}

TEST(AllToAll, IsReportedWhenAllMembersDoIt) {
  Facts facts = facts_of(4);
  add_to_all(facts, row(Pattern::kMessageCalls, 600, 0.2));
  for (RankFacts& rank : facts.ranks)
    rank.all_to_all[0] = {.count = 10, .message_count = 30, .sent_count = 60};
  const Findings found = found_by(find_all_to_all, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.1) << "half of the messages were sent to all";
  facts.ranks[3].all_to_all[0].count = 9;
  EXPECT_THAT(found_by(find_all_to_all, facts), IsEmpty());
  facts.ranks[3].all_to_all.clear();
  EXPECT_THAT(found_by(find_all_to_all, facts), IsEmpty());
}

TEST(Polling, IsReportedFromAThousandPollsOn) {
  Facts facts = facts_of(2);
  facts.ranks[1].rows.push_back(row(Pattern::kPoll, 1000, 0.5));
  EXPECT_THAT(found_by(find_polling, facts).at(0).ranks, ElementsAre(1));
  facts.ranks[1].rows[0].count = 999;
  EXPECT_THAT(found_by(find_polling, facts), IsEmpty());
}

TEST(SerialFiles, CostAtMaxWhatTheOthersWait) {
  Facts facts = facts_of(4);
  facts.ranks[0].rows.push_back(row(Pattern::kFileTransfer, 20, 0.3, 1 << 20));
  facts.ranks[0].waited_for_at_all = waited(60, 0.6, 3);
  const Findings found = found_by(find_serial_files, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.15);
  facts.ranks[1].rows.push_back(row(Pattern::kFileTransfer, 20, 0.3, 1 << 20));
  EXPECT_THAT(found_by(find_serial_files, facts), IsEmpty()) << "two of them write";
}

TEST(SerialFiles, AreInferredFromABlockedRank) {
  Facts facts = facts_of(4);
  for (RankFacts& rank : facts.ranks) rank.blocked_ns = 0.1 * kSecond_ns;
  facts.ranks[2].waited_for_at_all = waited(60, 0.9, 3);
  EXPECT_THAT(found_by(find_serial_files, facts), IsEmpty()) << "all are";
  facts.ranks[2].blocked_ns = 0.3 * kSecond_ns;
  const Findings found = found_by(find_serial_files, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.15) << "three ranks, 0.2 s each";
  facts.ranks[2].blocked_ns = -1.0;
  EXPECT_THAT(found_by(find_serial_files, facts), IsEmpty()) << "not known";
}

TEST(UnexpectedMessages, AreReportedByTheLengthOfTheQueue) {
  Facts facts = facts_of(2);
  UnexpectedQueue& queue = facts.ranks[1].queue;
  queue = {.message_count = 4000,
           .unexpected_count = 3000,
           .held_ns = 256 * kSecond_ns,
           .held_byte_ns = 0.0,
           .comm = 0};
  const Findings found = found_by(find_unexpected_messages, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].share, 0.0);
  EXPECT_THAT(found[0].text, HasSubstr("on average 256 of them"));
  queue.held_ns = 255 * kSecond_ns;
  EXPECT_THAT(found_by(find_unexpected_messages, facts), IsEmpty());
  queue.held_byte_ns = 16.0 * 1024 * 1024 * kSecond_ns;
  EXPECT_EQ(found_by(find_unexpected_messages, facts).size(), 1U) << "they are large";
}

TEST(LateSender, IsOneRankForWhichHalfOfTheOthersWait) {
  Facts facts = facts_of(5);
  of_kind(facts.ranks[0], Waiting::kLateSender) = waited(40, 0.5, 2);
  of_kind(facts.ranks[3], Waiting::kLateSender) = waited(40, 0.4, 2);
  const Findings found = found_by(find_late_sender, facts);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text,
              HasSubstr("2 ranks wait for messages of rank 0 (late sender), 40 times"));
  of_kind(facts.ranks[0], Waiting::kLateSender).waiter_count = 1;
  EXPECT_THAT(found_by(find_late_sender, facts), IsEmpty());
  of_kind(facts.ranks[0], Waiting::kLateSender) = waited(40, 0.24, 2);
  of_kind(facts.ranks[3], Waiting::kLateSender) = {};
  EXPECT_THAT(found_by(find_late_sender, facts), IsEmpty()) << "4.8 % of the run";
}

/// Ranks 1 to 3 of four receive from the rank before and send to the next, a hop takes 1 ms.
Facts ring(double receive_ms) {
  Facts facts = facts_of(4);
  for (std::int32_t i = 1; i < 4; ++i) {
    RankFacts& rank = facts.ranks[static_cast<std::size_t>(i)];
    rank.receive_then_send.push_back(
        {.comm = 0,
         .from = i - 1,
         .to = (i + 1) % 4,
         .count = 20,
         .time_ns = static_cast<std::uint64_t>(20 * receive_ms * 1e6)});
    rank.late_sends = {20, 20'000'000};
  }
  return facts;
}

TEST(SequentialRing, CostsAHopAPlaceInTheChain) {
  const Findings found = found_by(find_sequential_ring, ring(10.0));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].ranks, ElementsAre(1, 2, 3));
  EXPECT_DOUBLE_EQ(found[0].share, (1 + 2 + 3) * 0.02 / 4);
}

TEST(SequentialRing, IsNoneWhereNoneWaitsOrTheChainIsShort) {
  EXPECT_THAT(found_by(find_sequential_ring, ring(0.1)), IsEmpty());
  Facts facts = ring(10.0);
  facts.ranks[2].receive_then_send.clear();
  EXPECT_THAT(found_by(find_sequential_ring, facts), IsEmpty())
      << "every other rank receives first";
}

TEST(SequentialRing, OfSendsNeedsARankThatReceivesFirst) {
  Facts facts = facts_of(4);
  for (std::int32_t i = 0; i < 3; ++i) {
    RankFacts& rank = facts.ranks[static_cast<std::size_t>(i)];
    rank.send_then_receive.push_back(
        {.comm = 0, .from = (i + 3) % 4, .to = i + 1, .count = 20, .time_ns = 200'000'000});
    rank.late_receives = {20, 20'000'000};
  }
  EXPECT_THAT(found_by(find_sequential_ring, facts), IsEmpty()) << "a pipeline";
  facts.ranks[3].receive_then_send.push_back(
      {.comm = 0, .from = 2, .to = 0, .count = 20, .time_ns = 1000});
  EXPECT_THAT(found_by(find_sequential_ring, facts).at(0).ranks, ElementsAre(0, 1, 2));
}

Facts with_work(const std::vector<double>& seconds) {
  Facts facts = facts_of(seconds.size());
  for (std::size_t i = 0; i < seconds.size(); ++i)
    facts.ranks[i].mpi_ns = static_cast<std::uint64_t>((1.0 - seconds[i]) * kSecond_ns);
  facts.ranks[0].waited_for_at_all = waited(10, 100.0, 1);
  return facts;
}

TEST(RankImbalance, IsATrendOrAStep) {
  const Findings trend = found_by(find_rank_imbalance, with_work({0.1, 0.3, 0.5, 0.7}));
  ASSERT_EQ(trend.size(), 1U);
  EXPECT_NEAR(trend[0].share, 0.3, 1e-9);
  EXPECT_THAT(trend[0].ranks, ElementsAre(3));
  EXPECT_THAT(trend[0].text, HasSubstr("grows with the rank's number"));
  const Findings step = found_by(find_rank_imbalance, with_work({0.61, 0.6, 0.5, 0.5, 0.51, 0.5}));
  ASSERT_EQ(step.size(), 1U);
  EXPECT_THAT(step[0].ranks, ElementsAre(0, 1));
}

TEST(RankImbalance, IsNoneOfOneSlowRankOrHostsOrAFewPercent) {
  EXPECT_THAT(found_by(find_rank_imbalance, with_work({0.2, 0.2, 0.7, 0.2})), IsEmpty());
  EXPECT_THAT(found_by(find_rank_imbalance, with_work({0.5, 0.56, 0.6, 0.65})), IsEmpty());
  Facts hosts = with_work({0.61, 0.6, 0.5, 0.5, 0.51, 0.5});
  hosts.ranks[0].host = hosts.ranks[1].host = "n1";
  EXPECT_THAT(found_by(find_rank_imbalance, hosts), IsEmpty());
}

TEST(Advise, SortsByShare) {
  Facts facts = facts_of(2);
  facts.ranks[1].rows.push_back(row(Pattern::kPoll, 1000, 0.1));
  facts.ranks[0].rows.push_back(row(Pattern::kSmallSends, 5000, 0.4));
  const std::vector<Finding> found = advise(facts);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].rule, "small_messages");
  EXPECT_EQ(found[1].rule, "polling");
  EXPECT_THAT(advise(Facts{}), IsEmpty());
}

}  // namespace
}  // namespace megascope::advice
