#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "core/trace/run_folder.h"
#include "core/trace/trace_writer.h"
#include "plugin/cli/commands.h"
#include "plugin/cli/worlds.h"

/// Runs beside a run, which others may have put there.
namespace megascope::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Beside : public testing::Test {
 protected:
  Beside() {
    char name[] = "/tmp/beside-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~Beside() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  /// A run of one rank, without calls, whose world has these names.
  std::string make_run(const std::string& name, const std::string& world, const std::string& parent) const {
    ProcessDefinitions process;
    process.info.world = world;
    process.info.parent_world = parent;
    process.info.run_id = name;
    process.info.clock_domain = "test";
    process.info.clock = ClockKind::kMonotonic;
    process.info.end_state = EndState::kFinalized;
    process.info.start_ticks = 1000;
    process.info.end_ticks = 2000;
    process.info.clock_points = {{1000, 1000, 1'000'000}, {2000, 2000, 1'001'000}};
    const fs::path run = folder_ / name;
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

  fs::path folder_;
};

/// What the child's exit code is; -1: it did not end by itself.
int report_in_time(const std::string& run) {
  constexpr unsigned kLimit_s = 20;
  const pid_t child = fork();
  if (child == 0) {
    alarm(kLimit_s);
    ReportArguments arguments;
    arguments.folder = run;
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

TEST_F(Beside, FifosMakeNobodyWait) {
  const std::string one = make_run("one", "A", "B");
  for (const char* name : {"run-id", "rank-0.mgt"}) {
    fs::create_directory(folder_ / (std::string("with ") + name));
    ASSERT_EQ(mkfifo((folder_ / (std::string("with ") + name) / name).c_str(), 0666), 0);
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
  fs::create_directory(folder_ / "hidden");
  fs::rename(other, folder_ / "hidden" / "other");
  fs::create_directory_symlink(folder_ / "hidden" / "other", other);
  EXPECT_THAT(started_by(one), IsEmpty());
}

std::vector<std::string> run_ids_in(const std::string& run, std::vector<std::string>& problems) {
  std::unique_ptr<trace::RunSource> source;
  std::vector<std::string> ids;
  if (!trace::RunSource::open(run, {}, source, problems).is_ok()) return ids;
  for (const std::int32_t rank : source->world_ranks()) ids.push_back(source->process(rank).info.run_id);
  return ids;
}

/// Who owns a run exchanges the directory of a rank for a link to another's run while root exports.
TEST_F(Beside, ADirectoryOfARankThatIsExchangedForALinkIsNotFollowed) {
  make_run("secret", "A", "");
  fs::create_directory(folder_ / "run");
  make_run("run/solo-1", "B", "");
  const std::string solo = folder_ / "run" / "solo-1";
  const std::string link = folder_ / "run" / "link";
  fs::create_directory_symlink(folder_ / "secret", link);
  std::atomic<bool> goes_on = true;
  std::thread attacker([&] {
    while (goes_on) renameat2(AT_FDCWD, solo.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
  });
  int own_count = 0;
  int secret_count = 0;
  for (int times = 0; times < 10'000; ++times) {
    std::vector<std::string> problems;
    for (const std::string& id : run_ids_in(folder_ / "run", problems)) ++(id == "secret" ? secret_count : own_count);
  }
  goes_on = false;
  attacker.join();
  EXPECT_EQ(secret_count, 0);
  EXPECT_GT(own_count, 0);
}

TEST_F(Beside, WhatAnotherUserOwnsInARunIsNotRead) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a directory away";
  const std::string run = make_run("run", "A", "");
  make_run("run/solo-1", "B", "");
  const std::string secret = make_run("secret", "C", "");
  for (const std::string& path : {run, run + "/rank-0.mgt", run + "/solo-1", run + "/solo-1/rank-0.mgt"}) {
    ASSERT_EQ(chown(path.c_str(), 4001, 4001), 0);
  }
  fs::create_hard_link(secret + "/rank-0.mgt", run + "/rank-7.mgt");
  std::vector<std::string> problems;
  EXPECT_THAT(run_ids_in(run, problems), ElementsAre("run"));
  EXPECT_THAT(problems, testing::Contains("cannot use " + run + "/rank-7.mgt: it belongs to another user than its directory"));
  fs::remove(run + "/rank-0.mgt");
  ASSERT_EQ(chown((run + "/solo-1").c_str(), 4002, 4002), 0);
  EXPECT_THAT(run_ids_in(run, problems), IsEmpty());
}

}  // namespace
}  // namespace megascope::cli
