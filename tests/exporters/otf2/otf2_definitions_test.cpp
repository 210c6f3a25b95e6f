// Global definitions, as otf2-print shows them.
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class Otf2Definitions : public ::testing::Test {
 protected:
  std::vector<std::string> exported(std::int32_t world_size,
                                    const std::vector<SampleProcess>& processes,
                                    const std::string& kind) {
    const TemporaryDirectory directory;
    ExportResult result;
    const Status status = export_run(directory.path(), world_size, processes, 1, result);
    EXPECT_TRUE(status.is_ok()) << status.message();
    return printed_definitions(directory.path() + "/trace.otf2", kind);
  }
};

TEST_F(Otf2Definitions, RegionsOfMpiHaveItsParadigmAndTheirRole) {
  SampleProcess process(0, 1);
  process.call("MPI_Send", 1, 2);
  process.call("MPI_Allreduce", 3, 4);
  process.call("MPI_Barrier", 5, 6);
  EXPECT_THAT(
      exported(1, {process}, "REGION"),
      ElementsAre(
          AllOf(HasSubstr("\"MPI_Send\""), HasSubstr("Role: POINT2POINT, Paradigm: \"MPI\"")),
          AllOf(HasSubstr("\"MPI_Allreduce\""), HasSubstr("Role: COLL_ALL2ALL, Paradigm: \"MPI\"")),
          AllOf(HasSubstr("\"MPI_Barrier\""), HasSubstr("Role: BARRIER, Paradigm: \"MPI\""))));
}

TEST_F(Otf2Definitions, ARegionOfManyProcessesIsDefinedOnce) {
  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  first.call("MPI_Send", 1, 2);
  second.call("MPI_Recv", 1, 2);
  second.call("MPI_Send", 3, 4);
  EXPECT_THAT(exported(2, {first, second}, "REGION"),
              ElementsAre(StartsWith("REGION 0 Name: \"MPI_Send\""),
                          StartsWith("REGION 1 Name: \"MPI_Recv\"")));
}

TEST_F(Otf2Definitions, ACommunicatorIsOneForAnyNumberThatItHasInAProcess) {
  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  first.add_comm(10, "pair", kWorld, {1, 0});
  second.add_comm(11, "mine", kSelf, {1});
  second.add_comm(10, "", kWorld, {1, 0});
  EXPECT_THAT(
      exported(2, {first, second}, "COMM"),
      ElementsAre(HasSubstr("COMM 0 Name: \"MPI_COMM_WORLD\""), HasSubstr("\"MPI_COMM_SELF\""),
                  HasSubstr("\"pair\""), HasSubstr("\"mine\"")))
      << "numbers of strings may change";
}

TEST_F(Otf2Definitions, ParentsComeBeforeTheirChildren) {
  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  first.add_comm(20, "child", 3, {0, 1});  // seen before its parent
  first.add_comm(10, "parent", kWorld, {0, 1});
  EXPECT_THAT(
      exported(2, {first, second}, "COMM"),
      ElementsAre(
          HasSubstr("MPI_COMM_WORLD"), HasSubstr("MPI_COMM_SELF"),
          AllOf(StartsWith("COMM 2 Name: \"parent\""), HasSubstr("Parent: \"MPI_COMM_WORLD\" <0>")),
          AllOf(StartsWith("COMM 3 Name: \"child\""), HasSubstr("Parent: \"parent\" <2>"))));
}

TEST_F(Otf2Definitions, OneGlobalNameWithOtherMembersIsAnotherCommunicator) {
  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  first.add_comm(10, "left", kWorld, {0});
  second.add_comm(10, "right", kWorld, {1});
  EXPECT_THAT(exported(2, {first, second}, "COMM"), SizeIs(4));
}

TEST_F(Otf2Definitions, BothSidesSeeTheSameIntercommunicator) {
  SampleProcess first(0, 3);
  SampleProcess second(1, 3);
  SampleProcess third(2, 3);
  first.add_comm(10, "bridge", kNoComm, {0}, {2, 1});
  second.add_comm(10, "bridge", kNoComm, {2, 1}, {0});
  third.add_comm(10, "bridge", kNoComm, {2, 1}, {0});
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 3, {first, second, third}, 1, result).is_ok());
  const std::string anchor = directory.path() + "/trace.otf2";
  EXPECT_THAT(printed_definitions(anchor, "INTER_COMM"),
              ElementsAre(AllOf(HasSubstr("Group A: \"\" <3>"), HasSubstr("Group B: \"\" <4>"))));
  EXPECT_THAT(
      printed_definitions(anchor, "GROUP"),
      AllOf(Contains(AllOf(StartsWith("GROUP 3 "), HasSubstr("1 Member: 0 (\"main thread\" <0>)"))),
            Contains(
                AllOf(StartsWith("GROUP 4 "),
                      HasSubstr("2 Members: 2 (\"main thread\" <2>), 1 (\"main thread\" <1>)")))));
}

TEST_F(Otf2Definitions, ACommunicatorOfRanksThatAreNotInTheRunIsLeftOut) {
  SampleProcess process(0, 1);
  process.add_comm(10, "broken", kWorld, {0, 7});
  EXPECT_THAT(exported(1, {process}, "COMM"), SizeIs(2));
}

TEST_F(Otf2Definitions, CommunicationLocationsAreTheMainThreadsInRankOrder) {
  SampleProcess first(0, 2);
  SampleProcess second(1, 2);
  first.add_thread("thread 1");
  first.definitions().locations[0] = {
      .id = 0, .name = "helper", .system_thread_id = 1, .is_main = false};
  first.definitions().locations[1] = {
      .id = 1, .name = "main thread", .system_thread_id = 2, .is_main = true};
  second.add_thread("thread 1");
  EXPECT_THAT(exported(2, {first, second}, "GROUP"),
              Contains(AllOf(HasSubstr("COMM_LOCATIONS, Paradigm: \"MPI\""),
                             HasSubstr("2 Members: \"main thread\" <0>, \"main thread\" <1>"))));
}

TEST_F(Otf2Definitions, LocationsDeclareTheirEvents) {
  SampleProcess process(0, 1);
  process.add_thread("thread 1");
  process.call("MPI_Send", 1, 2, {send(0, 1, 4, kSelf)});
  process.call("MPI_Recv", 3, 4, {recv(0, 1, 4, kSelf)}, 1);
  EXPECT_THAT(exported(1, {process}, "LOCATION"),
              ElementsAre(AllOf(StartsWith("LOCATION 0 Name: \"main thread\""),
                                HasSubstr("# Events: 3, Group: \"Rank 0\" <0>")),
                          AllOf(StartsWith("LOCATION 4294967296 Name: \"thread 1\""),
                                HasSubstr("# Events: 5"))));
}

TEST_F(Otf2Definitions, RanksWithoutTraceAreThereAndEmpty) {
  SampleProcess process(1, 3);
  process.call("MPI_Init", 1, 2);
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 3, {process}, 1, result).is_ok());
  const std::string anchor = directory.path() + "/trace.otf2";
  EXPECT_THAT(printed_definitions(anchor, "LOCATION_GROUP"),
              ElementsAre(HasSubstr("\"Rank 0 (no trace)\""), HasSubstr("\"Rank 1\""),
                          HasSubstr("\"Rank 2 (no trace)\"")));
  const Judgement judgement = judge(anchor);
  EXPECT_EQ(judgement.exit_code, 0) << judgement.report.dump(1);
  EXPECT_EQ(judgement.report["ranks"], 3);
  EXPECT_EQ(judgement.report["ranks_without_trace"], 2);
}

TEST_F(Otf2Definitions, AProcessWithoutThreadsIsStillReadable) {
  SampleProcess process(0, 1);
  process.definitions().locations.clear();
  process.process().locations.clear();
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 1, {process}, 1, result).is_ok());
  EXPECT_EQ(result.records, 0u);
  EXPECT_EQ(judge(directory.path() + "/trace.otf2").exit_code, 0);
}

TEST_F(Otf2Definitions, NodesAreHostsUnderOneMachine) {
  const std::vector<SampleProcess> processes = {SampleProcess(0, 3), SampleProcess(1, 3),
                                                SampleProcess(2, 3)};
  EXPECT_THAT(exported(3, processes, "SYSTEM_TREE_NODE"),
              ElementsAre(AllOf(StartsWith("SYSTEM_TREE_NODE 0 Name: \"MPI job\""),
                                HasSubstr("Class: \"machine\"")),
                          AllOf(StartsWith("SYSTEM_TREE_NODE 1 Name: \"node-a\""),
                                HasSubstr("Parent: \"machine::MPI job\"")),
                          StartsWith("SYSTEM_TREE_NODE 2 Name: \"node-b\"")));
}

TEST_F(Otf2Definitions, TheClockCoversAllEventsAndKnowsTheDate) {
  SampleProcess process(0, 1);
  process.call("MPI_Init", 5, 12345);
  EXPECT_THAT(
      exported(1, {process}, "CLOCK_PROPERTIES"),
      ElementsAre(
          "CLOCK_PROPERTIES Ticks per Seconds: 1000000000, Global Offset: 0, Length: 12345, Date: "
          "2023-11-14 22:13:20.000000000 +0000"));
}

}  // namespace
}  // namespace megascope::test
