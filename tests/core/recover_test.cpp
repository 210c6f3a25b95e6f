#include "core/trace/recover.h"

#include "core/buffer/recorder.h"
#include "core/trace/reader.h"
#include "core/trace/run_files.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// What killed runs leave on a node, and how it finds its run directory.
namespace megascope::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Runs `body` in a process that has ended afterwards; its pid, which no process has any more.
template <class Body>
pid_t in_a_process_that_ends(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(testing::Test::HasFatalFailure() ? 1 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  return child;
}

pid_t pid_of_the_dead() {
  return in_a_process_that_ends([] {});
}

class RecoverTest : public testing::Test {
 protected:
  RecoverTest() { fs::create_directories(directory_ / "scratch"); }
  std::string scratch() const { return directory_ / "scratch"; }

  /// Of a run of this user, in scratch storage: private, as the library makes it.
  void make_scratch_directory(const fs::path& place) const {
    fs::create_directories(place);
    fs::permissions(place, fs::perms::owner_all);
    fs::permissions(place.parent_path(), fs::perms::owner_all);
  }

  void make_run_directory(const fs::path& name, const std::string& run_id,
                          const std::string& scratch) const {
    fs::create_directories(directory_ / name);
    std::ofstream(directory_ / name / kRunIdFile) << run_id << '\n' << scratch << "\nn[0-3]\nn0\n";
  }

  /// A trace without calls, as a process that is killed leaves it: no process maps it.
  void leave_trace(const std::string& run_id, const ProcessInfo& info) const {
    in_a_process_that_ends([&] { begin_trace(run_id, info); });
  }

  /// A trace without calls that this process maps, for anything that `info` says of its writer.
  void begin_trace(const std::string& run_id, ProcessInfo info) const {
    const std::string place = scratch_directory_of(scratch(), run_id);
    make_scratch_directory(place);
    info.run_id = run_id;
    static auto* const
        recorders = new std::vector<std::unique_ptr<Recorder>>;  // never destroyed, as in a program
    auto& recorder = recorders->emplace_back(std::make_unique<Recorder>(
        RecorderOptions{.path = place + "/" + trace_file_name(info.world_rank),
                        .size_bytes = 1 << 20,
                        .policy = BufferPolicy::kStop,
                        .use_tsc = false}));
    const Status status = recorder->open(info);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }

  ProcessInfo rank_1_of_4(const std::string& run_directory) const {
    ProcessInfo info;
    info.world_rank = 1;
    info.world_size = 4;
    info.pid = pid_of_the_dead();
    info.identity = this_process();
    info.run_directory = directory_ / run_directory;
    return info;
  }

  const test::TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path();
};

TEST_F(RecoverTest, FindsTheRunDirectoryThatRank0MadeUnderAnotherName) {
  make_run_directory("out", "earlier", scratch());
  make_run_directory("out-2", "mine", "/elsewhere");  // rank 0's node has its scratch there
  leave_trace("mine", rank_1_of_4("out"));
  const std::vector<Leftover> left = find_leftovers({directory_ / "nosuch", scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].scratch, scratch());
  EXPECT_EQ(left[0].run_directory, directory_ / "out-2");
  EXPECT_FALSE(left[0].is_running);
  RecoverResult result;
  ASSERT_TRUE(recover_run(left[0].run_directory, result, {left[0].scratch}).is_ok());
  EXPECT_THAT(result.recovered, ElementsAre((directory_ / "out-2" / "rank-1.mgt").string()));
  EXPECT_THAT(result.ranks, ElementsAre(1));
  EXPECT_EQ(result.world_size, 4);
  EXPECT_THAT(find_leftovers({scratch()}), IsEmpty());
}

TEST_F(RecoverTest, FindsTheDirectoryOfARankOnItsOwn) {
  make_run_directory("out", "rank 0's", scratch());
  make_run_directory("out/solo-1", "own", scratch());
  leave_trace("own", rank_1_of_4("out"));
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].run_directory, directory_ / "out" / "solo-1");
}

TEST_F(RecoverTest, KnowsWhatRunsAndWhatCannotBePlaced) {
  ProcessInfo running = rank_1_of_4("out");
  running.pid = getpid();
  running.run_directory.clear();
  leave_trace("running", running);
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].is_running);
  EXPECT_EQ(left[0].run_directory, "");
}

TEST_F(RecoverTest, AnUnfinishedTraceOfAnotherPidNamespaceThatIsStillMappedIsCopied) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.identity.pid_namespace = 1;  // a container's: its pids mean nothing here
  begin_trace("mine", info);
  const std::string original = scratch_directory_of(scratch(), "mine") + "/rank-1.mgt";
  for (int times = 0; times < 2; ++times) {
    RecoverResult result;
    ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
    EXPECT_TRUE(fs::exists(original));
    EXPECT_THAT(result.problems,
                ElementsAre("process of rank-1.mgt still runs: its trace so far was copied"));
    EXPECT_EQ(result.recovered.size(), times == 0 ? 1u : 0u)
        << "the second time it has the same bytes";
    EXPECT_THAT(result.ranks, ElementsAre(1));
  }
  std::unique_ptr<TraceFile> copy;
  ASSERT_TRUE(TraceFile::open(directory_ / "out" / "rank-1.mgt", copy).is_ok());
  EXPECT_EQ(copy->definitions().info.end_state, EndState::kRunning);
  EXPECT_EQ(copy->definitions().info.identity, info.identity);
}

TEST_F(RecoverTest, AnEarlierCopyIsBroughtUpToDateInItsPlace) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.pid = getpid();
  leave_trace("mine", info);
  const std::string original = scratch_directory_of(scratch(), "mine") + "/rank-1.mgt";
  const std::string copy = directory_ / "out" / "rank-1.mgt";
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  struct stat before {};
  ASSERT_EQ(stat(copy.c_str(), &before), 0);
  fs::resize_file(original, fs::file_size(original) + 4096);
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  struct stat after {};
  ASSERT_EQ(stat(copy.c_str(), &after), 0);
  // A rename could replace what the process has moved here meanwhile.
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(fs::file_size(copy), fs::file_size(original));
}

/// What a kill leaves where a file system has no RENAME_NOREPLACE: the copy has its name, and still
/// that of its part.
TEST_F(RecoverTest, ACopyWithTheNameOfItsPartIsBroughtUpToDate) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.pid = getpid();
  leave_trace("mine", info);
  const std::string original = scratch_directory_of(scratch(), "mine") + "/rank-1.mgt";
  const std::string copy = directory_ / "out" / "rank-1.mgt";
  RecoverResult first;
  ASSERT_TRUE(recover_run(directory_ / "out", first).is_ok());
  fs::create_hard_link(copy, copy + ".0123456789abcdef.part");
  fs::resize_file(original, fs::file_size(original) + 4096);
  RecoverResult second;
  ASSERT_TRUE(recover_run(directory_ / "out", second).is_ok());
  EXPECT_THAT(second.problems,
              ElementsAre("process of rank-1.mgt still runs: its trace so far was copied"));
  EXPECT_EQ(fs::file_size(copy), fs::file_size(original));
  EXPECT_EQ(fs::hard_link_count(copy), 1u);
  fs::create_hard_link(copy, copy + ".fedcba9876543210.part");
  fs::create_hard_link(copy, directory_ / "mine too");
  fs::resize_file(original, fs::file_size(original) + 4096);
  RecoverResult third;
  ASSERT_TRUE(recover_run(directory_ / "out", third).is_ok());
  EXPECT_THAT(third.problems, ElementsAre("cannot use " + copy +
                                          ": it has more than one name (hard links); remove its "
                                          "other names, or put a copy in its place"));
  EXPECT_EQ(fs::hard_link_count(copy), 2u) << "names that are not ours stay";
}

TEST_F(RecoverTest, ATraceOfAnotherPidNamespaceThatNoneMapsIsMoved) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.identity.pid_namespace = 1;
  const std::string original = scratch_directory_of(scratch(), "mine") + "/rank-1.mgt";
  leave_trace("mine", info);
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_FALSE(fs::exists(original));
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_EQ(fs::status(directory_ / "out" / "rank-1.mgt").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

/// Its writer saw a network file system, whose server this machine is; or it is of version 0.1. No
/// mapping proves nothing then.
TEST_F(RecoverTest, ATraceOfAnotherPidNamespaceWhoseWriterDoesNotMapItIsCopied) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.identity.pid_namespace = 1;
  leave_trace("mine", info);
  const std::string original = scratch_directory_of(scratch(), "mine") + "/rank-1.mgt";
  std::fstream header(original, std::ios::in | std::ios::out | std::ios::binary);
  header.seekp(offsetof(FileHeader, is_mapped));
  header.write("\0\0\0", 4);
  header.close();
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  RecoverResult of_leftover;
  EXPECT_TRUE(recover_leftover(left[0], of_leftover).is_ok());
  EXPECT_EQ(of_leftover.unproven_count, 1u);
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_TRUE(fs::exists(original));
  ASSERT_EQ(result.problems.size(), 1u);
  EXPECT_THAT(result.problems[0],
              HasSubstr("rank-1.mgt was copied, not moved: its process may still run"));
}

/// CRIU restores processes with another start time.
TEST_F(RecoverTest, ATraceThatIsMappedIsNotTakenForAnyIdentity) {
  make_run_directory("out", "mine", scratch());
  ProcessInfo info = rank_1_of_4("out");
  info.pid = getpid();
  ++info.identity.start_ticks;
  begin_trace("mine", info);
  EXPECT_EQ(liveness_of(info), Liveness::kGone);
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(left[0].is_running);
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_TRUE(fs::exists(scratch_directory_of(scratch(), "mine") + "/rank-1.mgt"));
  EXPECT_THAT(result.problems,
              ElementsAre("process of rank-1.mgt still runs: its trace so far was copied"));
}

TEST_F(RecoverTest, APidThatAnotherProcessHasNowIsOfNoneThatRuns) {
  ProcessInfo info;
  info.pid = getpid();
  info.identity = this_process();
  EXPECT_EQ(liveness_of(info), Liveness::kRuns);
  ++info.identity.start_ticks;
  EXPECT_EQ(liveness_of(info), Liveness::kGone);
  info.identity.boot_id = "another machine's";
  EXPECT_EQ(liveness_of(info), Liveness::kUnknown);
  info.identity = {};  // version 0.1
  EXPECT_EQ(liveness_of(info), Liveness::kUnknown);
}

TEST_F(RecoverTest, AProcessOfAnotherUserRuns) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  const pid_t child = fork();
  if (child == 0) {
    ProcessInfo info;
    info.pid = getppid();
    info.identity = this_process();
    info.identity.start_ticks = 0;
    std::ifstream stat("/proc/" + std::to_string(info.pid) + "/stat");
    std::string word;
    for (int field = 1; field <= 22 && stat >> word; ++field) {
    }
    info.identity.start_ticks = std::stoull(word);  // the name of this program has no blank
    const bool has_left = setgid(4001) == 0 && setuid(4001) == 0;
    _exit(has_left && liveness_of(info) == Liveness::kRuns ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RecoverTest, PartsOfKilledCopiesDoNotBlockAndAreRemoved) {
  make_run_directory("out", "mine", scratch());
  leave_trace("mine", rank_1_of_4("out"));
  const std::string of_version_0_1 = directory_ / "out" / "rank-1.mgt.part";
  const std::string fresh = directory_ / "out" / "rank-1.mgt.0123456789abcdef.part";
  const std::string foreign = directory_ / "out" / "notes.part";
  for (const std::string& path : {of_version_0_1, fresh, foreign}) std::ofstream(path) << "MGSCOPE";
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_THAT(result.problems, IsEmpty());
  EXPECT_THAT(result.ranks, ElementsAre(1));
  EXPECT_FALSE(fs::exists(of_version_0_1));
  EXPECT_FALSE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(foreign));
}

TEST_F(RecoverTest, RefusesScratchThatOthersCanWriteTo) {
  make_run_directory("out", "mine", scratch());
  leave_trace("mine", rank_1_of_4("out"));
  const fs::path home = fs::path(scratch_directory_of(scratch(), "mine")).parent_path();
  fs::permissions(home, fs::perms::others_write, fs::perm_options::add);
  std::vector<std::string> problems;
  EXPECT_THAT(find_leftovers({scratch()}, &problems), IsEmpty());
  EXPECT_THAT(problems,
              ElementsAre("cannot use " + home.string() + ": other users can write to it"));
  RecoverResult result;
  EXPECT_FALSE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_TRUE(fs::exists(home / "mine" / "rank-1.mgt"));
}

TEST_F(RecoverTest, FollowsNoLinkAndWaitsForNoFifo) {
  make_run_directory("out", "mine", scratch());
  leave_trace("mine", rank_1_of_4("out"));
  const fs::path place = scratch_directory_of(scratch(), "mine");
  std::ofstream(directory_ / "secret") << "secret";
  fs::create_symlink(directory_ / "secret", place / "rank-2.mgt");
  ASSERT_EQ(mkfifo((place / "rank-3.mgt").c_str(), 0600), 0);
  fs::create_symlink(directory_ / "secret", directory_ / "out" / "rank-1.mgt.part");
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_THAT(result.ranks, ElementsAre(1));
  EXPECT_FALSE(fs::exists(fs::symlink_status(directory_ / "out" / "rank-2.mgt")));
  EXPECT_FALSE(fs::exists(fs::symlink_status(directory_ / "out" / "rank-3.mgt")));
  EXPECT_EQ(result.problems.size(), 2u) << testing::PrintToString(result.problems);
}

TEST_F(RecoverTest, FindsTheDirectoryThatWasMadeWhereTheUsualNameWasTaken) {
  make_run_directory("out", "mine", scratch());
  leave_trace("mine", rank_1_of_4("out"));
  const fs::path usual = fs::path(scratch_directory_of(scratch(), "mine")).parent_path();
  fs::rename(usual, usual.string() + ".Ab3xYz");
  fs::create_symlink(directory_, usual);
  const std::vector<Leftover> left = find_leftovers({scratch()});
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].scratch_directory, usual.string() + ".Ab3xYz/mine");
  EXPECT_EQ(left[0].run_directory, directory_ / "out");
  RecoverResult result;
  ASSERT_TRUE(recover_run(directory_ / "out", result).is_ok());
  EXPECT_THAT(result.ranks, ElementsAre(1));
  EXPECT_THAT(result.problems,
              ElementsAre("cannot use " + usual.string() + ": it is not a directory"));
}

TEST_F(RecoverTest, AnIdThatIsNoNameOfADirectoryIsNoId) {
  for (const std::string id : {"..", ".", "a/b", ""}) {
    make_run_directory("out", id, scratch());
    RunId read;
    EXPECT_FALSE(read_run_id(directory_ / "out", read)) << id;
  }
  fs::remove(directory_ / "out" / kRunIdFile);
  ASSERT_EQ(mkfifo((directory_ / "out" / kRunIdFile).c_str(), 0600), 0);
  RunId read;
  EXPECT_FALSE(read_run_id(directory_ / "out", read)) << "and a FIFO makes no process wait";
}

TEST_F(RecoverTest, ATraceKeepsWhatTheLauncherReported) {
  ProcessInfo info = rank_1_of_4("out");
  info.launcher = {{"SLURM_JOB_ID", "17"}, {"SLURM_NODEID", "3"}};
  leave_trace("mine", info);
  std::unique_ptr<TraceFile> file;
  ASSERT_TRUE(
      TraceFile::open(scratch_directory_of(scratch(), "mine") + "/rank-1.mgt", file).is_ok());
  const ProcessInfo& read = file->definitions().info;
  EXPECT_EQ(read.launcher, info.launcher);
  EXPECT_EQ(launcher_fact(read.launcher, "SLURM_NODEID"), "3");
  EXPECT_EQ(launcher_fact(read.launcher, "SLURM_STEP_ID"), "");
  EXPECT_EQ(read.run_directory, info.run_directory);
}

}  // namespace
}  // namespace megascope::trace
