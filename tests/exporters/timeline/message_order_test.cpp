#include "core/record/message_order.h"

#include "tests/support/sample_process.h"

#include <gmock/gmock.h>

namespace megascope::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ne;
using ::testing::SizeIs;

constexpr std::uint64_t kUnknown = 0;

std::vector<std::uint64_t> flow_ids(const std::vector<SampleProcess>& processes, std::int32_t rank,
                                    LocationId location = 0) {
  const MemorySource source = make_source(4, processes);
  const MessageOrder order = MessageOrder::of(source, rank);
  const auto ids = order.flow_ids(location);
  return {ids.begin(), ids.end()};
}

Fact probed(RequestId message, std::int32_t peer, std::int32_t tag, std::uint64_t bytes) {
  return with_request(FactKind::kMatched, message, recv(peer, tag, bytes));
}

Fact received_probed(RequestId message, std::int32_t peer, std::int32_t tag, std::uint64_t bytes) {
  return with_request(FactKind::kRecv, message, recv(peer, tag, bytes));
}

/// Rank 0, which sends one message for each tag to rank 1.
SampleProcess sender(const std::vector<std::int32_t>& tags) {
  SampleProcess rank0(0, 4);
  std::uint64_t time_ns = 0;
  for (const std::int32_t tag : tags) {
    rank0.call("MPI_Send", time_ns, time_ns + 5, {send(1, tag, 8)});
    time_ns += 10;
  }
  return rank0;
}

TEST(MessageOrder, NamesBothEndsOfAMessageAlike) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Recv", 100, 110, {recv(0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7}), rank1};
  EXPECT_THAT(flow_ids(run, 0), SizeIs(1));
  EXPECT_THAT(flow_ids(run, 0), Each(Ne(kUnknown)));
  EXPECT_EQ(flow_ids(run, 0), flow_ids(run, 1));
}

TEST(MessageOrder, ReportsMessagesOfOneSeriesApart) {
  const auto ids = flow_ids({sender({7, 7, 8})}, 0);
  EXPECT_THAT(ids, SizeIs(3));
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_NE(ids[0], ids[2]);
  EXPECT_NE(ids[1], ids[2]);
}

TEST(MessageOrder, NamesNothingWhereTheBeginningIsMissing) {
  SampleProcess late = sender({7, 7});
  late.definitions().locations[0].lacks_beginning = true;
  const auto ids = flow_ids({late}, 0);
  EXPECT_THAT(ids, SizeIs(2));
  EXPECT_THAT(ids, Each(kUnknown));
}

TEST(MessageOrder, ReportsOppositeDirectionsApart) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Send", 0, 5, {send(0, 7, 8)});
  EXPECT_NE(flow_ids({sender({7}), rank1}, 0), flow_ids({sender({7}), rank1}, 1));
}

TEST(MessageOrder, ReportsCommunicatorsApart) {
  SampleProcess rank0(0, 4);
  const CommId other = rank0.add_comm(0xABCD, "other", kWorld, {0, 1});
  rank0.call("MPI_Send", 0, 5, {send(1, 7, 8)});
  rank0.call("MPI_Send", 10, 15, {send(1, 7, 8, other)});
  const auto ids = flow_ids({rank0}, 0);
  EXPECT_NE(ids[0], ids[1]);
}

TEST(MessageOrder, ReceivesMatchInPostingOrderWhenTheyCompleteInverted) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Irecv", 100, 101, {recv_request(1, 0, 7, 64)});
  rank1.call("MPI_Irecv", 110, 111, {recv_request(2, 0, 7, 64)});
  rank1.call("MPI_Wait", 120, 130, {recv_complete(2, 0, 7, 8)});
  rank1.call("MPI_Wait", 140, 150, {recv_complete(1, 0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7, 7}), rank1};
  const auto sent_ids = flow_ids(run, 0);
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(sent_ids[1], sent_ids[0]));
}

TEST(MessageOrder, AWildcardBelongsToTheSeriesOfWhatItGot) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Irecv", 100, 101, {recv_request(1, kAnySource, kAnyTag, 64)});
  rank1.call("MPI_Irecv", 110, 111, {recv_request(2, 0, 7, 64)});
  rank1.call("MPI_Recv", 120, 125,
             {recv(0, 8, 8)});  // posted with MPI_ANY_SOURCE: recorded as matched
  rank1.call("MPI_Waitall", 130, 140, {recv_complete(1, 0, 7, 8), recv_complete(2, 0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7, 8, 7}), rank1};
  const auto sent_ids = flow_ids(run, 0);
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(sent_ids[1], sent_ids[0], sent_ids[2]));
}

TEST(MessageOrder, AMatchedProbeIsThePostingOfItsReceive) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Mprobe", 100, 105, {probed(9, 0, 7, 8)});
  rank1.call("MPI_Recv", 110, 115,
             {recv(0, 7, 8)});  // the second message: the first has been taken out
  rank1.call("MPI_Mrecv", 120, 125, {received_probed(9, 0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7, 7}), rank1};
  const auto sent_ids = flow_ids(run, 0);
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(sent_ids[1], sent_ids[0]));
}

TEST(MessageOrder, AProbedMessageIsNotPostedAgainByImrecv) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Mprobe", 100, 105, {probed(9, 0, 7, 8)});
  rank1.call("MPI_Recv", 110, 115, {recv(0, 7, 8)});
  rank1.call("MPI_Imrecv", 120, 125, {recv_request(9, 0, 7, 8)});
  rank1.call("MPI_Wait", 130, 135, {recv_complete(9, 0, 7, 8)});
  rank1.call("MPI_Recv", 140, 145, {recv(0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7, 7, 7}), rank1};
  const auto sent_ids = flow_ids(run, 0);
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(sent_ids[1], sent_ids[0], sent_ids[2]));
}

TEST(MessageOrder, ThreadsPostInTheOrderOfEntering) {
  SampleProcess rank1(1, 4);
  const LocationId thread = rank1.add_thread("thread 1");
  rank1.call("MPI_Recv", 110, 200, {recv(0, 7, 8)});
  rank1.call("MPI_Recv", 100, 300, {recv(0, 7, 8)}, thread);
  rank1.call("MPI_Recv", 310, 320, {recv(0, 7, 8)}, thread);
  const std::vector<SampleProcess> run{sender({7, 7, 7}), rank1};
  const auto sent_ids = flow_ids(run, 0);
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(sent_ids[1]));
  EXPECT_THAT(flow_ids(run, 1, thread), ElementsAre(sent_ids[0], sent_ids[2]));
}

TEST(MessageOrder, ARequestMayCompleteOnAnotherThread) {
  SampleProcess rank1(1, 4);
  const LocationId thread = rank1.add_thread("thread 1");
  rank1.call("MPI_Irecv", 100, 101, {recv_request(1, 0, 7, 64)});
  rank1.call("MPI_Wait", 110, 120, {recv_complete(1, 0, 7, 8)}, thread);
  const std::vector<SampleProcess> run{sender({7}), rank1};
  EXPECT_THAT(flow_ids(run, 1), SizeIs(0));
  EXPECT_EQ(flow_ids(run, 1, thread), flow_ids(run, 0));
}

TEST(MessageOrder, WhatWasCancelledDoesNotCount) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Irecv", 100, 101, {recv_request(1, 0, 7, 64)});
  rank1.call("MPI_Wait", 110, 120, {of_request(FactKind::kCancelled, 1)});
  rank1.call("MPI_Recv", 130, 140, {recv(0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7}), rank1};
  EXPECT_EQ(flow_ids(run, 1), flow_ids(run, 0));

  SampleProcess rank0(0, 4);
  rank0.call("MPI_Isend", 0, 1, {send_request(1, 1, 7, 8)});
  rank0.call("MPI_Wait", 2, 3, {of_request(FactKind::kCancelled, 1)});
  rank0.call("MPI_Send", 4, 5, {send(1, 7, 8)});
  EXPECT_THAT(flow_ids({rank0, rank1}, 0), ElementsAre(kUnknown, flow_ids(run, 1)[0]));
}

TEST(MessageOrder, AFreedReceiveTakesItsMessageOnlyWhereItIsKnownWhich) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Irecv", 100, 101, {recv_request(1, 0, 7, 64)});
  rank1.call("MPI_Request_free", 102, 103, {of_request(FactKind::kRequestFreed, 1)});
  rank1.call("MPI_Irecv", 104, 105, {recv_request(2, kAnySource, 7, 64)});
  rank1.call("MPI_Request_free", 106, 107, {of_request(FactKind::kRequestFreed, 2)});
  rank1.call("MPI_Recv", 130, 140, {recv(0, 7, 8)});
  const std::vector<SampleProcess> run{sender({7, 7}), rank1};
  EXPECT_THAT(flow_ids(run, 1), ElementsAre(flow_ids(run, 0)[1]));
}

TEST(MessageOrder, APersistentRequestPostsAtEachStart) {
  SampleProcess rank0(0, 4);
  SampleProcess rank1(1, 4);
  for (std::uint64_t round = 0; round < 2; ++round) {
    rank0.call("MPI_Start", 100 * round, 100 * round + 1, {send_request(5, 1, 7, 8)});
    rank0.call("MPI_Wait", 100 * round + 2, 100 * round + 3, {send_complete(5)});
    rank1.call("MPI_Start", 100 * round, 100 * round + 1, {recv_request(5, 0, 7, 8)});
    rank1.call("MPI_Wait", 100 * round + 2, 100 * round + 9, {recv_complete(5, 0, 7, 8)});
  }
  EXPECT_THAT(flow_ids({rank0, rank1}, 1), SizeIs(2));
  EXPECT_EQ(flow_ids({rank0, rank1}, 0), flow_ids({rank0, rank1}, 1));
}

TEST(MessageOrder, GroupsOfAnIntercommunicatorAgree) {
  SampleProcess rank2(2,
                      4);  // group {2, 3} sends to rank 1 of the other group, which is world rank 0
  const CommId left = rank2.add_comm(0xFEED, "inter", kWorld, {2, 3}, {1, 0});
  rank2.call("MPI_Send", 0, 5, {send(1, 7, 8, left)});
  SampleProcess rank0(0, 4);
  const CommId right = rank0.add_comm(0xFEED, "inter", kWorld, {1, 0}, {2, 3});
  rank0.call("MPI_Recv", 0, 9, {recv(0, 7, 8, right)});
  EXPECT_THAT(flow_ids({rank0, rank2}, 0), Each(Ne(kUnknown)));
  EXPECT_EQ(flow_ids({rank0, rank2}, 0), flow_ids({rank0, rank2}, 2));
}

TEST(MessageOrder, WhatIsNotKnownHasNoName) {
  SampleProcess rank1(1, 4);
  rank1.call("MPI_Wait", 0, 1, {recv_complete(3, 0, 7, 8)});   // its start was not recorded
  rank1.call("MPI_Recv", 2, 3, {recv(kAnySource, 7, 8)});      // its status was not told
  rank1.call("MPI_Send", 4, 5, {send(1, 7, 8, /*comm=*/77)});  // no such communicator
  rank1.call("MPI_Send", 6, 7, {send(/*beyond the world*/ 99, 7, 8)});
  EXPECT_THAT(flow_ids({rank1}, 1), ElementsAre(kUnknown, kUnknown, kUnknown, kUnknown));
}

TEST(MessageOrder, CollectivesAreNamedByCommunicatorAndSequence) {
  EXPECT_EQ(collective_flow_id(1, 0), collective_flow_id(1, 0));
  EXPECT_NE(collective_flow_id(1, 0), collective_flow_id(1, 1));
  EXPECT_NE(collective_flow_id(1, 0), collective_flow_id(2, 0));
}

}  // namespace
}  // namespace megascope::test
