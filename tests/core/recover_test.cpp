#include "core/trace/recover.h"

#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "core/buffer/recorder.h"
#include "core/trace/reader.h"
#include "core/trace/run_folder.h"

/// What killed runs leave on a node, and how it finds its run folder.
namespace megascope::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A pid that nobody has.
pid_t pid_of_the_dead() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

class RecoverTest : public testing::Test {
 protected:
  RecoverTest() {
    char name[] = "/tmp/recover-XXXXXX";
    folder_ = mkdtemp(name);
    fs::create_directories(folder_ / "scratch");
  }
  ~RecoverTest() override {
    std::error_code error;
    fs::remove_all(folder_, error);
  }

  std::string scratch() const { return folder_ / "scratch"; }

  void make_run_folder(const fs::path& name, const std::string& run_id, const std::string& scratch) const {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / kRunIdFile) << run_id << '\n' << scratch << "\nn[0-3]\nn0\n";
  }

  /// A trace without calls, as a process that is killed leaves it.
  void leave_trace(const std::string& run_id, ProcessInfo info) const {
    const std::string place = scratch_folder_of(scratch(), run_id);
    fs::create_directories(place);
    info.run_id = run_id;
    static auto* const recorders = new std::vector<std::unique_ptr<Recorder>>;  // never destroyed, as in a program
    auto& recorder = recorders->emplace_back(std::make_unique<Recorder>(RecorderOptions{
        .path = place + "/" + trace_file_name(info.world_rank), .size_bytes = 1 << 20, .policy = BufferPolicy::kStop, .use_tsc = false}));
    const Status status = recorder->open(info);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  ProcessInfo rank_1_of_4(const std::string& run_folder) const {
    ProcessInfo info;
    info.world_rank = 1;
    info.world_size = 4;
    info.pid = pid_of_the_dead();
    info.run_folder = folder_ / run_folder;
    return info;
  }

  fs::path folder_;
};

TEST_F(RecoverTest, FindsTheRunFolderThatRank0MadeUnderAnotherName) {
  make_run_folder("out", "earlier", scratch());
  make_run_folder("out-2", "mine", "/elsewhere");  // rank 0's node has its scratch there
  leave_trace("mine", rank_1_of_4("out"));
  const std::vector<Leftover> left = find_leftovers({folder_ / "nosuch", scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].scratch, scratch());
  EXPECT_EQ(left[0].run_folder, folder_ / "out-2");
  EXPECT_FALSE(left[0].is_running);
  RecoverResult result;
  ASSERT_TRUE(recover_run(left[0].run_folder, result, {left[0].scratch}).is_ok());
  EXPECT_THAT(result.recovered, ElementsAre((folder_ / "out-2" / "rank-1.mgt").string()));
  EXPECT_THAT(result.ranks, ElementsAre(1));
  EXPECT_EQ(result.world_size, 4);
  EXPECT_THAT(find_leftovers({scratch()}), IsEmpty());
}

TEST_F(RecoverTest, FindsTheFolderOfARankOnItsOwn) {
  make_run_folder("out", "rank 0's", scratch());
  make_run_folder("out/solo-1", "own", scratch());
  leave_trace("own", rank_1_of_4("out"));
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].run_folder, folder_ / "out" / "solo-1");
}

TEST_F(RecoverTest, KnowsWhatRunsAndWhatCannotBePlaced) {
  ProcessInfo running = rank_1_of_4("out");
  running.pid = getpid();
  running.run_folder.clear();
  leave_trace("running", running);
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].is_running);
  EXPECT_EQ(left[0].run_folder, "");
}

TEST_F(RecoverTest, ATraceKeepsWhatTheLauncherSaid) {
  ProcessInfo info = rank_1_of_4("out");
  info.launcher = {{"SLURM_JOB_ID", "17"}, {"SLURM_NODEID", "3"}};
  leave_trace("mine", info);
  std::unique_ptr<TraceFile> file;
  ASSERT_TRUE(TraceFile::open(scratch_folder_of(scratch(), "mine") + "/rank-1.mgt", file).is_ok());
  const ProcessInfo& read = file->definitions().info;
  EXPECT_EQ(read.launcher, info.launcher);
  EXPECT_EQ(launcher_fact(read.launcher, "SLURM_NODEID"), "3");
  EXPECT_EQ(launcher_fact(read.launcher, "SLURM_STEP_ID"), "");
  EXPECT_EQ(read.run_folder, info.run_folder);
}

}  // namespace
}  // namespace megascope::trace
