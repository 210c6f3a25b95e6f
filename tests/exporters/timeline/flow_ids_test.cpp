#include "core/record/flow_ids.h"

#include "core/base/hash.h"
#include "tests/support/sample_process.h"

#include <gmock/gmock.h>

#include <set>

namespace megascope::test {
namespace {

using ::testing::Each;
using ::testing::IsFalse;
using ::testing::IsTrue;

constexpr std::int32_t kRanks = 4;

MessageSeries::Envelope envelope(CommId comm, std::int32_t peer, std::int32_t tag) {
  MessageSeries::Envelope message;
  message.comm = comm;
  message.peer = peer;
  message.tag = tag;
  return message;
}

std::uint64_t sent(const SampleProcess& process, CommId comm, std::int32_t peer, std::int32_t tag,
                   std::uint64_t number = 0) {
  const FlowIds ids(process.process().definitions);
  return FlowIds::of_message(ids.sent(envelope(comm, peer, tag)), number);
}
std::uint64_t received(const SampleProcess& process, CommId comm, std::int32_t peer,
                       std::int32_t tag, std::uint64_t number = 0) {
  const FlowIds ids(process.process().definitions);
  return FlowIds::of_message(ids.received(envelope(comm, peer, tag)), number);
}
std::uint64_t collective_id(const SampleProcess& process, CommId comm, std::uint32_t sequence) {
  return FlowIds(process.process().definitions).of_collective(comm, sequence);
}

/// Global names of communicators that the short identifiers do not distinguish.
std::pair<std::uint64_t, std::uint64_t> names_alike() {
  const auto code = [](std::uint64_t name) { return mix(name) >> (64 - FlowIds::kCommBits); };
  std::uint64_t other = 2;
  while (code(other) != code(1)) ++other;
  return {1, other};
}

TEST(FlowIds, AreShortAndEqualAtBothEnds) {
  SampleProcess rank0(0, kRanks);
  SampleProcess rank3(3, kRanks);
  const CommId here = rank0.add_comm(0xABCD, "pair", kWorld, {3, 0});
  rank3.add_comm(0x1234, "only there", kWorld, {2, 3});
  const CommId there = rank3.add_comm(0xABCD, "pair", kWorld, {3, 0});
  for (const std::int32_t tag : {0, 7, 8, 127, 128, 2047, 2048, (1 << 20) - 1}) {
    for (const std::uint64_t number : {0U, 1U, 255U}) {
      EXPECT_TRUE(FlowIds::is_short(sent(rank0, kWorld, 3, tag, number))) << tag;
      EXPECT_EQ(sent(rank0, kWorld, 3, tag, number), received(rank3, kWorld, 0, tag, number));
      EXPECT_TRUE(FlowIds::is_short(sent(rank0, here, 0, tag, number))) << tag;
      EXPECT_EQ(sent(rank0, here, 0, tag, number), received(rank3, there, 1, tag, number));
    }
  }
}

TEST(FlowIds, OfAMessageTakesFiveBytesForTagsOfThreeDigits) {
  EXPECT_LT(sent(SampleProcess(0, 8), kWorld, 7, 999, (1 << 14) - 1), std::uint64_t{1} << 35);
  EXPECT_LT(collective_id(SampleProcess(0, 8), kWorld, (1 << 18) - 1), std::uint64_t{1} << 21);
}

TEST(FlowIds, DifferForAllMessagesAndCollectives) {
  std::set<std::uint64_t> known;
  std::size_t count = 0;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    SampleProcess process(rank, kRanks);
    const CommId copy = process.add_comm(0xABCD, "copy", kWorld, {0, 1, 2, 3});
    const CommId reversed = process.add_comm(0xABCE, "reversed", kWorld, {3, 2, 1, 0});
    for (const CommId comm : {kWorld, copy, reversed}) {
      for (std::int32_t peer = 0; peer < kRanks; ++peer) {
        for (const std::int32_t tag : {0, 1, 7, 8, 127, 128, 2047, 2048, 1 << 19, 1 << 20}) {
          for (const std::uint64_t number : {0U, 1U, 2U, 8U, 1U << 14, 1U << 30}) {
            known.insert(sent(process, comm, peer, tag, number));
            ++count;
          }
        }
      }
      for (std::uint32_t sequence = 0; rank == 0 && sequence < 1000; ++sequence, ++count)
        known.insert(collective_id(process, comm, sequence));
    }
  }
  EXPECT_EQ(known.size(), count);
  EXPECT_FALSE(known.contains(0));
}

TEST(FlowIds, AreHashesWhereShortOnesHaveNoSpace) {
  SampleProcess rank0(0, kRanks);
  SampleProcess rank1(1, kRanks);
  const CommId inter = rank0.add_comm(0xFEED, "inter", kWorld, {0}, {1});
  rank1.add_comm(0xFEED, "inter", kWorld, {1}, {0});
  EXPECT_THAT((std::vector{sent(rank0, kWorld, 1, 1 << 20), sent(rank0, inter, 0, 7),
                           sent(rank0, kWorld, 1, 7, std::uint64_t{1} << 40)}),
              Each(::testing::Truly([](std::uint64_t id) { return !FlowIds::is_short(id); })));
  EXPECT_EQ(sent(rank0, kWorld, 1, 1 << 20), received(rank1, kWorld, 0, 1 << 20));
  EXPECT_EQ(sent(rank0, inter, 0, 7), received(rank1, inter, 0, 7));
  EXPECT_EQ(sent(rank0, kWorld, 1, 7, std::uint64_t{1} << 40),
            received(rank1, kWorld, 0, 7, std::uint64_t{1} << 40));
  const SampleProcess of_many(0, 1 << 20);
  EXPECT_FALSE(FlowIds::is_short(sent(of_many, kWorld, 1, 0)));
}

TEST(FlowIds, CommunicatorsAlikeAreToldApartByThoseThatAreInBoth) {
  const auto [first_name, second_name] = names_alike();
  std::vector<SampleProcess> run;
  CommId first = 0;
  CommId second = 0;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    run.emplace_back(rank, kRanks);
    first = run.back().add_comm(first_name, "first", kWorld, {0, 1, 2});
    if (rank < 2) second = run.back().add_comm(second_name, "second", kWorld, {0, 1});
  }
  EXPECT_NE(sent(run[0], first, 1, 7), sent(run[0], second, 1, 7));
  EXPECT_EQ(sent(run[0], first, 1, 7), received(run[1], first, 0, 7));
  EXPECT_EQ(sent(run[0], second, 1, 7), received(run[1], second, 0, 7));
  // Rank 2 does not know the second communicator.
  EXPECT_EQ(sent(run[0], first, 2, 7), received(run[2], first, 0, 7));
  EXPECT_EQ(sent(run[2], first, 1, 7), received(run[1], first, 2, 7));
  EXPECT_TRUE(FlowIds::is_short(sent(run[0], first, 2, 7)));
}

TEST(FlowIds, CollectivesOfAllRanksAreShortUnlessAlike) {
  const auto [first_name, second_name] = names_alike();
  SampleProcess rank0(0, kRanks);
  const CommId first = rank0.add_comm(first_name, "first", kWorld, {0, 1, 2, 3});
  const CommId part = rank0.add_comm(second_name, "part", kWorld, {0, 1});
  EXPECT_THAT(FlowIds::is_short(collective_id(rank0, first, 5)), IsTrue())
      << "other ranks do not know the other one";
  EXPECT_THAT(FlowIds::is_short(collective_id(rank0, part, 5)), IsFalse());
  const CommId second = rank0.add_comm(second_name, "second", kWorld, {3, 2, 1, 0});
  EXPECT_THAT(FlowIds::is_short(collective_id(rank0, first, 5)), IsFalse());
  EXPECT_NE(collective_id(rank0, first, 5), collective_id(rank0, second, 5));
}

}  // namespace
}  // namespace megascope::test
