// The same run, written by one process or by several: the same archive, sound for readers that are
// not ours.
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::ElementsAre;

constexpr std::int32_t kRanks = 4;

/// Messages around a ring: blocking, nonblocking completed out of order, from any source.
void add_ring(SampleProcess& process, std::int32_t rank) {
  const std::int32_t next = (rank + 1) % kRanks;
  const std::int32_t last = (rank + kRanks - 1) % kRanks;
  process.call("MPI_Sendrecv", 200, 300, {send(next, 1, 100), recv(last, 1, 100)});
  process.call("MPI_Irecv", 310, 311, {recv_request(11, last, 2, 64)});
  process.call("MPI_Irecv", 312, 313, {recv_request(12, kAnySource, kAnyTag, 64)});
  process.call("MPI_Isend", 320, 321, {send_request(13, next, 2, 16)});
  process.call("MPI_Isend", 322, 323, {send_request(14, next, 2, 32)});
  process.call("MPI_Wait", 330, 350, {recv_complete(12, last, 2, 32)});
  process.call("MPI_Waitall", 351, 360,
               {recv_complete(11, last, 2, 16), send_complete(13), send_complete(14)});
}

void add_collectives(SampleProcess& process, CommId half, CommId bridge, std::int32_t rank) {
  process.call("MPI_Comm_split", 400, 420, {comm_created(half), collective(0, kNoPeer, 0, 0)});
  process.call("MPI_Bcast", 430, 440,
               {collective(0, 1, rank < 2 ? 0u : 8u, rank < 2 ? 8u : 0u, half)});
  process.call("MPI_Intercomm_create", 450, 460,
               {comm_created(bridge), collective(1, kNoPeer, 0, 0, half)});
  const std::int32_t root = rank == 0 ? kSelfRoot : rank == 2 ? kProcNullRoot : 0;
  process.call("MPI_Bcast", 470, 480, {collective(0, root, 0, 0, bridge)});
  process.call("MPI_Send", 485, 486, {send(rank / 2, 3, 12, bridge)});
  process.call("MPI_Recv", 487, 490, {recv(rank / 2, 3, 12, bridge)});
  const Fact reduce = collective(1, kNoPeer, 8, 8);
  process.call("MPI_Iallreduce", 500, 501,
               {with_request(FactKind::kCollectiveRequest, 21, reduce)});
  process.call("MPI_Barrier", 510, 530, {collective(2, kNoPeer, 0, 0)});
  process.call("MPI_Wait", 540, 541, {with_request(FactKind::kCollectiveComplete, 21, reduce)});
  process.call("MPI_Comm_free", 550, 560,
               {collective(1, kNoPeer, 0, 0, bridge), comm_freed(bridge)});
}

/// Four ranks on two nodes; every process numbers its communicators differently; rank 2 has a
/// second thread.
std::vector<SampleProcess> sample_run() {
  std::vector<SampleProcess> processes;
  for (std::int32_t rank = 0; rank < kRanks; ++rank) {
    SampleProcess& process = processes.emplace_back(rank, kRanks);
    if (rank == 1) process.add_comm(99, "of rank 1", kSelf, {1});
    const std::vector<std::int32_t> mine = rank % 2 == 0 ? std::vector{0, 2} : std::vector{1, 3};
    const std::vector<std::int32_t> others = rank % 2 == 0 ? std::vector{1, 3} : std::vector{0, 2};
    const CommId half = process.add_comm(rank % 2 == 0 ? 100 : 101, rank % 2 == 0 ? "even" : "odd",
                                         kWorld, mine);
    const CommId bridge = process.add_comm(102, "bridge", half, mine, others);
    process.call("MPI_Init", 10, 100);
    add_ring(process, rank);
    add_collectives(process, half, bridge, rank);
    process.call("MPI_Finalize", 900, 1000);
  }
  const LocationId thread = processes[2].add_thread("thread 1");
  processes[2].call("MPI_Send", 600, 610, {send(0, 5, 1, kSelf)}, thread);
  processes[2].call("MPI_Recv", 620, 630, {recv(0, 5, 1, kSelf)}, thread);
  return processes;
}

class Otf2Members : public ::testing::TestWithParam<int> {};

TEST_P(Otf2Members, WriteAnArchiveThatReadersFindSound) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_run(directory.path(), kRanks, sample_run(), GetParam(), result);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(result.path, "trace.otf2");
  const Judgement judgement = judge(directory.path() + "/" + result.path);
  EXPECT_EQ(judgement.exit_code, 0) << judgement.report.dump(1);
  EXPECT_EQ(judgement.report["event_count"], result.records);
  EXPECT_EQ(judgement.report["messages"], 4 * 3 + 4 + 1);
  EXPECT_EQ(judgement.report["message_bytes"], 4 * (100 + 16 + 32) + 4 * 12 + 1);
  // split, Iallreduce and Barrier on the world; a Bcast on either half; Bcast and free on the
  // bridge
  EXPECT_EQ(judgement.report["collectives"], 3 + 2 + 2);
  EXPECT_EQ(judgement.report["communicators_created"], 8);
  EXPECT_EQ(judgement.report["requests_open_at_end"], 0);
  EXPECT_EQ(judgement.report["calls_by_rank"]["2"]["MPI_Send"], 2);
  EXPECT_THAT(judgement.report["communicators"].get<std::vector<std::string>>(),
              ElementsAre("MPI_COMM_SELF", "MPI_COMM_WORLD", "bridge", "even", "odd", "of rank 1",
                          "threads of rank 2"));
}

TEST_P(Otf2Members, WriteTheSameDefinitionsAsOneAlone) {
  const TemporaryDirectory alone;
  const TemporaryDirectory together;
  ExportResult result_alone;
  ExportResult result_together;
  ASSERT_TRUE(export_run(alone.path(), kRanks, sample_run(), 1, result_alone).is_ok());
  ASSERT_TRUE(
      export_run(together.path(), kRanks, sample_run(), GetParam(), result_together).is_ok());
  EXPECT_EQ(result_alone.records, result_together.records);
  EXPECT_EQ(result_alone.bytes, result_together.bytes);
  for (const char* kind : {"REGION", "COMM", "INTER_COMM", "GROUP", "LOCATION", "LOCATION_GROUP",
                           "CLOCK_PROPERTIES"}) {
    EXPECT_EQ(printed_definitions(alone.path() + "/trace.otf2", kind),
              printed_definitions(together.path() + "/trace.otf2", kind));
  }
}

TEST_P(Otf2Members, WriteIntercommunicatorsAsCommunicatorsOfBothGroupsWhenAsked) {
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), kRanks, sample_run(), GetParam(), result,
                         /*has_plain_comms=*/true)
                  .is_ok());
  const std::string anchor = directory.path() + "/trace.otf2";
  EXPECT_THAT(printed_definitions(anchor, "INTER_COMM"), ::testing::IsEmpty());
  const Judgement judgement = judge(anchor);
  // Of the root's own group only the root knows which rank it is.
  const nlohmann::json known = {
      {"collectives",
       {{"count", 1}, {"first", {"'bridge', number 0: members disagree about the root"}}}}};
  EXPECT_EQ(judgement.report["defects"], known) << judgement.report.dump(1);
  EXPECT_EQ(judgement.report["messages"], 4 * 3 + 4 + 1);
  // Group A is 0 and 2, B is 1 and 3: of both together 0, 2, 1, 3. Rank 2 sends to rank 1 of B,
  // which is 3 there.
  const auto messages = printed_events(anchor, 2);
  EXPECT_THAT(messages, ::testing::Contains(::testing::AllOf(::testing::HasSubstr("MPI_SEND 485"),
                                                             ::testing::HasSubstr("Receiver: 3"))));
  EXPECT_THAT(printed_events(anchor, 3),
              ::testing::Contains(::testing::AllOf(::testing::HasSubstr("MPI_RECV 490"),
                                                   ::testing::HasSubstr("Sender: 1"))));
}

INSTANTIATE_TEST_SUITE_P(OneToFour, Otf2Members, ::testing::Values(1, 2, 3, 4));

TEST(Otf2MembersWithoutRanks, TakePartAllTheSame) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_run(directory.path(), kRanks, sample_run(), 6, result);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_EQ(judge(directory.path() + "/trace.otf2").exit_code, 0);
}

}  // namespace
}  // namespace megascope::test
