// What becomes of each call, as otf2-print shows it.
#include "core/record/value_fact.h"
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lines = std::vector<std::string>;

constexpr CommId kBogusComm = 4711;

/// The events of a location when these processes are exported by one member.
Lines events(const std::vector<SampleProcess>& processes, std::int32_t world_size,
             std::uint64_t location = 0) {
  const TemporaryDirectory directory;
  ExportResult result;
  const Status status = export_run(directory.path(), world_size, processes, 1, result);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return printed_events(directory.path() + "/trace.otf2", location);
}

TEST(Otf2Events, SendHasTheTimeOfEnterAndReceiveThatOfLeave) {
  SampleProcess process(0, 1);
  process.call("MPI_Sendrecv", 10, 30, {send(0, 7, 40, kSelf), recv(0, 8, 24, kSelf)});
  EXPECT_THAT(events({process}, 1), ElementsAre("ENTER 10 Region: \"MPI_Sendrecv\" <0>",
                                                "MPI_SEND 10 Receiver: 0 (\"main thread\" <0>), "
                                                "Communicator: \"MPI_COMM_SELF\" <1>, Tag: 7, "
                                                "Length: 40",
                                                "MPI_RECV 30 Sender: 0 (\"main thread\" <0>), "
                                                "Communicator: \"MPI_COMM_SELF\" <1>, Tag: 8, "
                                                "Length: 24",
                                                "LEAVE 30 Region: \"MPI_Sendrecv\" <0>"));
}

TEST(Otf2Events, RequestsAreStartedTestedAndCompleted) {
  SampleProcess process(0, 1);
  process.call("MPI_Irecv", 10, 11, {recv_request(4, kAnySource, kAnyTag, 999, kSelf)});
  process.call("MPI_Isend", 20, 21, {send_request(5, 0, 6, 80, kSelf)});
  process.call("MPI_Test", 22, 23, {of_request(FactKind::kRequestTest, 4)});
  process.call("MPI_Waitall", 30, 40, {recv_complete(4, 0, 6, 80, kSelf), send_complete(5)});
  EXPECT_THAT(
      events({process}, 1),
      ElementsAre("ENTER 10 Region: \"MPI_Irecv\" <0>", "MPI_IRECV_REQUEST 10 Request: 4",
                  "LEAVE 11 Region: \"MPI_Irecv\" <0>", "ENTER 20 Region: \"MPI_Isend\" <1>",
                  "MPI_ISEND 20 Receiver: 0 (\"main thread\" <0>), Communicator: \"MPI_COMM_SELF\" "
                  "<1>, Tag: 6, "
                  "Length: 80, Request: 5",
                  "LEAVE 21 Region: \"MPI_Isend\" <1>", "ENTER 22 Region: \"MPI_Test\" <2>",
                  "MPI_REQUEST_TEST 23 Request: 4", "LEAVE 23 Region: \"MPI_Test\" <2>",
                  "ENTER 30 Region: \"MPI_Waitall\" <3>",
                  "MPI_IRECV 40 Sender: 0 (\"main thread\" <0>), Communicator: \"MPI_COMM_SELF\" "
                  "<1>, Tag: 6, "
                  "Length: 80, Request: 4",
                  "MPI_ISEND_COMPLETE 40 Request: 5", "LEAVE 40 Region: \"MPI_Waitall\" <3>"));
}

TEST(Otf2Events, ACancelledRequestIsCancelledAndAFreedSendIsComplete) {
  SampleProcess process(0, 1);
  process.call("MPI_Irecv", 10, 11, {recv_request(4, 0, 1, 8, kSelf)});
  process.call("MPI_Wait", 12, 13, {of_request(FactKind::kCancelled, 4)});
  process.call("MPI_Isend", 20, 21, {send_request(5, 0, 6, 80, kSelf)});
  process.call("MPI_Request_free", 22, 23, {of_request(FactKind::kRequestFreed, 5)});
  process.call("MPI_Irecv", 30, 31, {recv_request(6, 0, 6, 80, kSelf)});
  process.call("MPI_Request_free", 32, 33, {of_request(FactKind::kRequestFreed, 6)});
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 17u);
  EXPECT_EQ(lines[4], "MPI_REQUEST_CANCELLED 13 Request: 4");
  EXPECT_EQ(lines[10], "MPI_ISEND_COMPLETE 23 Request: 5");
  EXPECT_EQ(lines[15], "ENTER 32 Region: \"MPI_Request_free\" <3>");
  EXPECT_EQ(lines[16], "LEAVE 33 Region: \"MPI_Request_free\" <3>");
}

TEST(Otf2Events, ACollectiveHasBytesAndRootOfThisRank) {
  SampleProcess process(0, 1);
  process.call("MPI_Bcast", 10, 20, {collective(0, 0, 16, 0)});
  process.call("MPI_Barrier", 21, 22, {collective(1, kNoPeer, 0, 0)});
  const Lines lines = events({process}, 1);
  EXPECT_THAT(
      lines,
      ElementsAre(
          "ENTER 10 Region: \"MPI_Bcast\" <0>", "MPI_COLLECTIVE_BEGIN 10",
          "MPI_COLLECTIVE_END 20 Operation: BCAST, Communicator: \"MPI_COMM_WORLD\" <0>, Root: "
          "0 (\"main thread\" <0>), Sent: 16, Received: 0",
          "LEAVE 20 Region: \"MPI_Bcast\" <0>", "ENTER 21 Region: \"MPI_Barrier\" <1>",
          "MPI_COLLECTIVE_BEGIN 21",
          "MPI_COLLECTIVE_END 22 Operation: BARRIER, Communicator: \"MPI_COMM_WORLD\" <0>, "
          "Root: NONE, Sent: 0, Received: 0",
          "LEAVE 22 Region: \"MPI_Barrier\" <1>"));
}

TEST(Otf2Events, ANonblockingCollectiveIsWhatItsStartWas) {
  SampleProcess process(0, 1);
  const Fact fact = collective(0, kNoPeer, 8, 8);
  process.call("MPI_Iallreduce", 10, 11, {with_request(FactKind::kCollectiveRequest, 3, fact)});
  process.call("MPI_Wait", 20, 25, {with_request(FactKind::kCollectiveComplete, 3, fact)});
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[1], "NON_BLOCKING_COLLECTIVE_REQUEST 10 Request: 3");
  EXPECT_THAT(lines[4], HasSubstr("NON_BLOCKING_COLLECTIVE_COMPLETE 25 Operation: ALLREDUCE"));
  EXPECT_THAT(lines[4], HasSubstr("Sent: 8, Received: 8, Request: 3"));
}

TEST(Otf2Events, ANonblockingCollectiveMayCompleteOnAnotherThread) {
  SampleProcess process(0, 1);
  const LocationId thread = process.add_thread("thread 1");
  const Fact fact = collective(0, kNoPeer, 8, 8);
  process.call("MPI_Wait", 20, 25, {with_request(FactKind::kCollectiveComplete, 3, fact)});
  process.call("MPI_Iallreduce", 10, 11, {with_request(FactKind::kCollectiveRequest, 3, fact)},
               thread);
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr("NON_BLOCKING_COLLECTIVE_COMPLETE 25 Operation: ALLREDUCE"));
}

TEST(Otf2Events, MakingACommunicatorLiesInsideOfItsCollective) {
  SampleProcess process(0, 1);
  const CommId made = process.add_comm(55, "half", kWorld, {0});
  process.call("MPI_Comm_split", 10, 20, {comm_created(made), collective(0, kNoPeer, 0, 0)});
  process.call("MPI_Comm_free", 30, 40, {collective(0, kNoPeer, 0, 0, made), comm_freed(made)});
  // The wrappers define no operation for it.
  process.definitions().regions.back().collective_op = CollectiveOp::kDestroyHandle;
  process.call("MPI_Comm_dup", 50, 60,
               {comm_created(made)});  // without its collective OTF2 has no place for it
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_EQ(lines[2], "COMM_CREATE 20 Communicator: \"half\" <2>");
  EXPECT_THAT(lines[3], HasSubstr("MPI_COLLECTIVE_END 20 Operation: CREATE_HANDLE"));
  EXPECT_EQ(lines[7], "COMM_DESTROY 40 Communicator: \"half\" <2>");
  EXPECT_THAT(lines[8], HasSubstr("MPI_COLLECTIVE_END 40 Operation: DESTROY_HANDLE"));
  EXPECT_THAT(lines[11], HasSubstr("LEAVE 60"));
}

TEST(Otf2Events, CallsOfCallbacksLieInsideOfTheirCall) {
  SampleProcess process(0, 1);
  process.call("MPI_Comm_free", 10, 100, {collective(0, kNoPeer, 0, 0)});
  process.call("MPI_Send", 20, 30, {send(0, 1, 4, kSelf)}, 0, 1);
  process.call("MPI_Barrier", 100, 100, {}, 0,
               1);  // entered at the moment in which the outer one is left
  process.call("MPI_Recv", 100, 110, {recv(0, 1, 4, kSelf)});
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 12u);
  EXPECT_EQ(lines[0], "ENTER 10 Region: \"MPI_Comm_free\" <0>");
  EXPECT_EQ(lines[2], "ENTER 20 Region: \"MPI_Send\" <1>");
  EXPECT_EQ(lines[4], "LEAVE 30 Region: \"MPI_Send\" <1>");
  EXPECT_EQ(lines[5], "ENTER 100 Region: \"MPI_Barrier\" <2>");
  EXPECT_EQ(lines[6], "LEAVE 100 Region: \"MPI_Barrier\" <2>");
  EXPECT_THAT(lines[7], HasSubstr("MPI_COLLECTIVE_END 100"));
  EXPECT_EQ(lines[8], "LEAVE 100 Region: \"MPI_Comm_free\" <0>");
  EXPECT_EQ(lines[9], "ENTER 100 Region: \"MPI_Recv\" <3>");
}

TEST(Otf2Events, TimesNeverGoBackAndEveryEnterHasItsLeave) {
  SampleProcess process(0, 1);
  process.call("MPI_Init", 50, 40);  // left before it is entered
  process.call("MPI_Send", 30, 60);
  process.call("MPI_Recv", 55, 70);  // overlaps the last one, which ends inside of it
  EXPECT_THAT(
      events({process}, 1),
      ElementsAre("ENTER 50 Region: \"MPI_Init\" <0>", "ENTER 50 Region: \"MPI_Send\" <1>",
                  "ENTER 55 Region: \"MPI_Recv\" <2>", "LEAVE 70 Region: \"MPI_Recv\" <2>",
                  "LEAVE 70 Region: \"MPI_Send\" <1>", "LEAVE 70 Region: \"MPI_Init\" <0>"));
}

TEST(Otf2Events, AnUnfinishedCallAndAnErrorAreAttributesOfLeave) {
  SampleProcess process(0, 1);
  process.call("MPI_Send", 10, 20, {{.kind = FactKind::kError, .bytes = 6}});
  process.call("MPI_Recv", 30, 90, {}, 0, 0, /*is_pending=*/true);
  EXPECT_THAT(
      events({process}, 1),
      ElementsAre(
          "ENTER 10 Region: \"MPI_Send\" <0>",
          "LEAVE 20 Region: \"MPI_Send\" <0> ADDITIONAL ATTRIBUTES: (\"mpi_error\" <1>; INT64; 6)",
          "ENTER 30 Region: \"MPI_Recv\" <1>",
          "LEAVE 90 Region: \"MPI_Recv\" <1> ADDITIONAL ATTRIBUTES: (\"unfinished\" <0>; UINT8; "
          "1)"));
}

TEST(Otf2Events, AnUncertainEntryIsAnAttributeOfEnter) {
  SampleProcess process(0, 1);
  process.call("MPI_Test", 10, 90);
  process.last_call().uncertain_ns = 75;
  EXPECT_THAT(events({process}, 1),
              ElementsAre("ENTER 10 Region: \"MPI_Test\" <0> ADDITIONAL ATTRIBUTES: "
                          "(\"entry_uncertain_ns\" <10>; UINT64; 75)",
                          "LEAVE 90 Region: \"MPI_Test\" <0>"));
}

TEST(Otf2Events, WhatAProbeFoundAndValuesAreAttributesOfLeave) {
  SampleProcess process(0, 1);
  process.call("MPI_Probe", 10, 20,
               {{.kind = FactKind::kProbed, .comm = kSelf, .peer = 0, .tag = 7, .bytes = 40}});
  process.call("MPI_Request_get_status", 30, 40, {{.kind = FactKind::kRequestReady, .request = 5}});
  process.call("MPI_Dims_create", 50, 60,
               {value_fact(ValueName::kProcesses, 6), value_fact(ValueName::kDimension, -3),
                value_fact(ValueName::kProcesses, 7)});
  const Lines lines = events({process}, 1);
  ASSERT_EQ(lines.size(), 6u);
  for (const char* part :
       {"(\"comm\" <4>; COMM; \"MPI_COMM_SELF\" <1>)", "(\"found_source\" <5>; INT64; 0)",
        "(\"found_tag\" <6>; INT64; 7)", "(\"found_bytes\" <7>; UINT64; 40)"}) {
    EXPECT_THAT(lines[1], HasSubstr(part));
  }
  EXPECT_EQ(lines[3], "LEAVE 40 Region: \"MPI_Request_get_status\" <1>");
  EXPECT_THAT(lines[5], HasSubstr("(\"processes\" <48>; INT64; 6)")) << "the first of a name";
  EXPECT_THAT(lines[5], HasSubstr("(\"dimension_0\" <49>; INT64; -3)"));
}

TEST(Otf2Events, AFurtherThreadBeginsAndEnds) {
  SampleProcess process(0, 1);
  const LocationId silent = process.add_thread("thread 1");
  const LocationId thread = process.add_thread("thread 2");
  process.call("MPI_Init", 1, 2);
  process.call("MPI_Wait", 10, 20, {}, thread);
  EXPECT_THAT(
      events({process}, 1, 2ull << 32),
      ElementsAre("THREAD_BEGIN 10 Thread Contingent: \"threads of rank 0\" <2>, Sequence Count: 2",
                  "ENTER 10 Region: \"MPI_Wait\" <1>", "LEAVE 20 Region: \"MPI_Wait\" <1>",
                  "THREAD_END 20 Thread Contingent: \"threads of rank 0\" <2>, Sequence Count: "
                  "18446744073709551615"));
  EXPECT_THAT(events({process}, 1, std::uint64_t{silent} << 32), IsEmpty());
}

TEST(Otf2Events, WhatTheTraceDoesNotDefineIsWrittenAsUndefined) {
  SampleProcess process(0, 1);
  process.call("MPI_Send", 10, 20, {send(3, 1, 4, kBogusComm)});
  MemorySource::OwnedCall undefined;
  undefined.call.enter_ns = 30;
  undefined.call.leave_ns = 31;
  undefined.call.region = 999;
  process.process().locations[0].push_back(undefined);
  EXPECT_THAT(
      events({process}, 1),
      ElementsAre("ENTER 10 Region: \"MPI_Send\" <0>",
                  "MPI_SEND 10 Receiver: 3 (INVALID), Communicator: UNDEFINED, Tag: 1, Length: 4",
                  "LEAVE 20 Region: \"MPI_Send\" <0>",
                  "ENTER 30 Region: \"(region not defined in the trace)\" <1>",
                  "LEAVE 31 Region: \"(region not defined in the trace)\" <1>"));
}

}  // namespace
}  // namespace megascope::test
