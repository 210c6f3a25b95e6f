// Exports that cannot succeed, and archives that must not pass.
#include "exporters/otf2/export.h"
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace megascope::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::vector<SampleProcess> two_ranks(std::uint64_t bytes_received, int receive_count) {
  std::vector<SampleProcess> processes = {SampleProcess(0, 2), SampleProcess(1, 2)};
  processes[0].call("MPI_Send", 10, 20, {send(1, 7, 40)});
  if (receive_count > 0) processes[1].call("MPI_Recv", 10, 20, {recv(0, 7, bytes_received)});
  return processes;
}

TEST(Otf2Failure, AnArchiveThatExistsIsNotTouched) {
  for (const int members : {1, 3}) {
    const TemporaryDirectory directory;
    std::ofstream(directory.path() + "/trace.otf2") << "precious";
    ExportResult result;
    const Status status = export_run(directory.path(), 2, two_ranks(40, 1), members, result);
    EXPECT_EQ(status.message(),
              directory.path() +
                  "/trace.otf2 exists already and is not overwritten; choose another directory");
    std::ostringstream content;
    content << std::ifstream(directory.path() + "/trace.otf2").rdbuf();
    EXPECT_EQ(content.str(), "precious");
    EXPECT_FALSE(fs::exists(directory.path() + "/trace"));
  }
}

TEST(Otf2Failure, AnArchiveIsNotWrittenThroughLinks) {
  for (const char* name : {"/trace.otf2", "/trace.def", "/trace"}) {
    for (const int members : {1, 3}) {
      const TemporaryDirectory directory;
      fs::create_symlink(
          directory.path() + "/elsewhere",
          directory.path() + name);  // leads nowhere, until somebody writes through it
      ExportResult result;
      const Status status = export_run(directory.path(), 2, two_ranks(40, 1), members, result);
      EXPECT_EQ(status.message(),
                directory.path() + name +
                    " exists already and is not overwritten; choose another directory");
      EXPECT_FALSE(fs::exists(directory.path() + "/elsewhere")) << name;
      EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1) << name;
    }
  }
}

TEST(Otf2Failure, AnArchiveIsWholeAndAloneInItsDirectory) {
  for (const int members : {1, 3}) {
    const TemporaryDirectory directory;
    const mode_t before = umask(0);
    ExportResult result;
    const Status status = export_run(directory.path(), 2, two_ranks(40, 1), members, result);
    umask(before);
    ASSERT_TRUE(status.is_ok()) << status.message();
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory.path()))
      names.push_back(entry.path().filename());
    EXPECT_THAT(names, ::testing::UnorderedElementsAre("trace", "trace.def", "trace.otf2"));
    EXPECT_EQ(fs::status(directory.path() + "/trace").permissions() &
                  (fs::perms::group_write | fs::perms::others_write),
              fs::perms::none);
    EXPECT_EQ(judge(directory.path() + "/trace.otf2").exit_code, 0);
  }
}

TEST(Otf2Failure, ADirectoryThatCannotBeWrittenIsNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "no directory";
  ExportResult result;
  for (const int members : {1, 3}) {
    const Status status = export_run(directory.path() + "/file", 2, two_ranks(40, 1), members,
                                     result);
    EXPECT_THAT(status.message(), HasSubstr(directory.path() + "/file"));
  }
}

TEST(Otf2Judge, FindsASendWithoutReceive) {
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 2, two_ranks(0, 0), 1, result).is_ok());
  const Judgement strict = judge(directory.path() + "/trace.otf2");
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.report["defects"]["messages"]["first"][0],
            "rank 0 to rank 1, tag 7 on 'MPI_COMM_WORLD': 1 sent, 0 received");
  const Judgement lenient = judge(directory.path() + "/trace.otf2", "--incomplete");
  EXPECT_EQ(lenient.exit_code, 0);
  EXPECT_EQ(lenient.report["unmatched_sends"], 1);
}

TEST(Otf2Judge, FindsAnotherLength) {
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 2, two_ranks(39, 1), 1, result).is_ok());
  EXPECT_EQ(judge(directory.path() + "/trace.otf2").exit_code, 1);
}

TEST(Otf2Judge, FindsAReceiveBeforeItsSend) {
  std::vector<SampleProcess> processes = {SampleProcess(0, 2), SampleProcess(1, 2)};
  processes[0].call("MPI_Send", 30, 40, {send(1, 7, 40)});
  processes[1].call("MPI_Recv", 10, 20, {recv(0, 7, 40)});
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 2, processes, 1, result).is_ok());
  const Judgement strict = judge(directory.path() + "/trace.otf2");
  EXPECT_EQ(strict.exit_code, 1);
  EXPECT_EQ(strict.report["smallest_message_delay_ns"], -10);
  EXPECT_EQ(judge(directory.path() + "/trace.otf2", "--no-causality").exit_code, 0);
}

TEST(Otf2Judge, FindsACollectiveThatNotAllTookPartIn) {
  std::vector<SampleProcess> processes = {SampleProcess(0, 2), SampleProcess(1, 2)};
  processes[0].call("MPI_Barrier", 10, 20, {collective(0, kNoPeer, 0, 0)});
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 2, processes, 1, result).is_ok());
  const Judgement judgement = judge(directory.path() + "/trace.otf2");
  EXPECT_EQ(judgement.exit_code, 1);
  EXPECT_TRUE(judgement.report["defects"].contains("collectives"));
}

TEST(Otf2Judge, FindsACompletionWithoutStart) {
  SampleProcess process(0, 1);
  process.call("MPI_Wait", 10, 20, {send_complete(5)});
  const TemporaryDirectory directory;
  ExportResult result;
  ASSERT_TRUE(export_run(directory.path(), 1, {process}, 1, result).is_ok());
  EXPECT_TRUE(judge(directory.path() + "/trace.otf2").report["defects"].contains("requests"));
}

}  // namespace
}  // namespace megascope::test
