#include "core/trace/run_files.h"
#include "core/trace/trace_writer.h"
#include "plugin/cli/report/report.h"
#include "plugin/cli/run_directory/worlds.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// Runs beside a run, which others may have put there.
namespace megascope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Beside : public testing::Test {
 protected:
  /// A run of one rank, without calls, whose world has these names.
  std::string make_run(const std::string& name, const std::string& world,
                       const std::string& parent) const {
    ProcessDefinitions process;
    process.info.world.name = world;
    process.info.world.parent = parent;
    process.info.run_id = name;
    process.info.clock.domain = "test";
    process.info.clock.kind = ClockKind::kMonotonic;
    process.info.end_state = EndState::kFinalized;
    process.info.start_ticks = 1000;
    process.info.end_ticks = 2000;
    process.info.clock.points = {{1000, 1000, 1'000'000}, {2000, 2000, 1'001'000}};
    const fs::path run = directory_ / name;
    fs::create_directory(run);
    trace::TraceWriter writer;
    Status status = writer.open(run / trace::trace_file_name(0), process);
    if (status.is_ok()) status = writer.finish();
    EXPECT_TRUE(status.is_ok()) << status.message();
    return run;
  }

  static std::vector<std::string> started_by(const std::string& run) {
    std::unique_ptr<trace::RunSource> source;
    std::vector<std::string> problems;
    EXPECT_TRUE(trace::RunSource::open(run, {}, source, problems).is_ok());
    return runs_started_by(*source, run);
  }

  const test::TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path();
};

/// What the child's exit code is; -1: it did not end by itself.
int report_in_time(const std::string& run) {
  constexpr unsigned kLimit_s = 20;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLimit_s);
    ReportArguments arguments;
    arguments.directory = run;
    arguments.jobs = 1;
    _exit(print_report(arguments));
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Beside, RunsThatNameEachOtherAsTheirParentAreReportedOnce) {
  const std::string one = make_run("one", "A", "B");
  const std::string other = make_run("other", "B", "A");
  EXPECT_THAT(started_by(one), ElementsAre(other));
  EXPECT_THAT(started_by(other), ElementsAre(one));
  EXPECT_EQ(report_in_time(one), 0);
}

TEST_F(Beside, FifosMakeNoneWait) {
  const std::string one = make_run("one", "A", "B");
  for (const char* name : {"run-id", "rank-0.mgt"}) {
    fs::create_directory(directory_ / (std::string("with ") + name));
    ASSERT_EQ(mkfifo((directory_ / (std::string("with ") + name) / name).c_str(), 0666), 0);
  }
  EXPECT_EQ(report_in_time(one), 0);
}

TEST_F(Beside, ARunThatNamesItselfAsItsParentIsReportedOnce) {
  const std::string one = make_run("one", "A", "A");
  make_run("two", "A", "A");
  EXPECT_EQ(report_in_time(one), 0);
}

TEST_F(Beside, RunsOfAnotherOwnerDoNotCount) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a directory away";
  const std::string one = make_run("one", "A", "");
  const std::string other = make_run("other", "B", "A");
  EXPECT_THAT(started_by(one), ElementsAre(other));
  ASSERT_EQ(chown(other.c_str(), 4001, 4001), 0);
  EXPECT_THAT(started_by(one), IsEmpty());
}

TEST_F(Beside, LinksDoNotCount) {
  const std::string one = make_run("one", "A", "");
  const std::string other = make_run("other", "B", "A");
  fs::create_directory(directory_ / "hidden");
  fs::rename(other, directory_ / "hidden" / "other");
  fs::create_directory_symlink(directory_ / "hidden" / "other", other);
  EXPECT_THAT(started_by(one), IsEmpty());
}

TEST_F(Beside, LinksInsideARunAreNotRead) {
  const std::string one = make_run("one", "A", "");
  fs::create_directory_symlink(make_run("other", "B", ""), fs::path(one) / "solo-1");
  EXPECT_THAT(trace::find_traces(one), ElementsAre(one + "/rank-0.mgt"));
  fs::create_directory(fs::path(one) / "solo-2");
  fs::rename(directory_ / "other" / "rank-0.mgt", fs::path(one) / "solo-2" / "rank-0.mgt");
  EXPECT_THAT(trace::find_traces(one),
              UnorderedElementsAre(one + "/rank-0.mgt", one + "/solo-2/rank-0.mgt"));
}

TEST_F(Beside, WhatBelongsToAnotherUserThanTheRunIsNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give files away";
  const std::string one = make_run("one", "A", "");
  const std::string other = make_run("other", "B", "");
  fs::rename(other, fs::path(one) / "solo-1");
  ASSERT_EQ(chown((one + "/solo-1").c_str(), 4001, 4001), 0);
  EXPECT_THAT(trace::find_traces(one), ElementsAre(one + "/rank-0.mgt"));
  ASSERT_EQ(chown((one + "/rank-0.mgt").c_str(), 4001, 4001), 0);
  std::unique_ptr<trace::RunSource> source;
  std::vector<std::string> problems;
  EXPECT_FALSE(trace::RunSource::open(one, {}, source, problems).is_ok());
  EXPECT_THAT(problems,
              ElementsAre("cannot use " + one +
                          "/rank-0.mgt: it belongs to another user than the directory it is in"));
}

TEST_F(Beside, ADirectoryThatTheUserNamesByALinkIsRead) {
  fs::create_directory_symlink(make_run("one", "A", ""), directory_ / "link");
  std::unique_ptr<trace::RunSource> source;
  std::vector<std::string> problems;
  EXPECT_TRUE(trace::RunSource::open(directory_ / "link", {}, source, problems).is_ok());
  EXPECT_THAT(problems, IsEmpty());
}

}  // namespace
}  // namespace megascope::cli
