#include "tests/faults/disks.h"
#include "tests/faults/trial.h"
#include "tests/support/temporary_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/// What buffers leave to the program: disk for its checkpoint, memory to live. And disks that go
/// away while it runs.
namespace megascope::faults {
namespace {

using test::TemporaryDirectory;

constexpr std::uint64_t kFloodCalls = 9'000'000;  // some 100 MB, packed
constexpr unsigned kDiskMebibytes = 64;           // an eighth of it is left
constexpr const char* kCheckpointBytes = "6000000";

std::uint64_t lost_to(const Read& read, LossCause cause) {
  return read.definitions.losses[static_cast<std::size_t>(cause)];
}

/// The program's checkpoint is on the disk of the buffers.
Trial& on_disk(Trial& trial) {
  return trial.with("CHECKPOINT=" + trial.scratch() + "/checkpoint")
      .with(std::string("CHECKPOINT_BYTES=") + kCheckpointBytes);
}

void expect_checkpoint(const Ending& ending, int ranks) {
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.out, "checkpoint written"), ranks) << ending.out << ending.err;
}

class LeavesSpace : public testing::TestWithParam<const char*> {};

TEST_P(LeavesSpace, ForTheProgramsCheckpoint) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  const std::string type = GetParam();
  const TemporaryDirectory images;
  Trial trial("checkpoint", kFloodCalls);
  const bool is_tmpfs = type == "tmpfs";
  const unsigned mebibytes = type == "btrfs" ? 128 : kDiskMebibytes;  // btrfs has no smaller ones
  if (!is_tmpfs && !make_file_system(images / "image", type, mebibytes))
    GTEST_SKIP() << "needs mkfs." << type;
  on_disk(trial).before_exec([=, &images, directory = trial.scratch()] {
    const bool is_mounted = is_tmpfs ? mount_tmpfs(directory, "size=64m")
                                     : mount_image(images / "image", type, directory);
    if (!is_mounted) _exit(77);
  });
  const Ending ending = run(trial.preloaded());
  if (ending.exit_code == 77) GTEST_SKIP() << "needs loop devices and " << type << " in the kernel";
  expect_checkpoint(ending, 1);
  EXPECT_EQ(occurrences(ending.err, "rank 0 stopped recording to disk: "), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "are left to the application: " + trial.scratch()), 1)
      << ending.err;
  const Read read = trial.trace();
  EXPECT_GT(lost_to(read, LossCause::kStorage), 0u);
  EXPECT_GT(read.call_count(), 1'000'000u) << "most of the disk is in use";
}

INSTANTIATE_TEST_SUITE_P(On, LeavesSpace, testing::Values("ext4", "btrfs", "tmpfs"),
                         [](const auto& parameter) { return std::string(parameter.param); });

TEST(LeavesSpaceOf, AllLocalRanksTogether) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("checkpoint", kFloodCalls / 2);
  on_disk(trial).ranks(4).before_exec(
      [directory = trial.scratch()] { mount_tmpfs(directory, "size=64m"); });
  Child child(trial.preloaded());
  expect_checkpoint(child.wait(60), 4);
}

TEST(LeavesSpaceOf, FlightKeepsTheNewestInWhatItHas) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("checkpoint", kFloodCalls);
  on_disk(trial).with("MEGASCOPE_BUFFER_POLICY=flight").before_exec([directory = trial.scratch()] {
    mount_tmpfs(directory, "size=64m");
  });
  const Ending ending = run(trial.preloaded());
  expect_checkpoint(ending, 1);
  EXPECT_EQ(occurrences(ending.err, "rank 0 recorded fewer calls: "), 1) << ending.err;
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_GT(read.call_count(), 1'000'000u);
}

/// A memory cgroup of its own, of either version; empty where none can be made.
class Cgroup {
 public:
  explicit Cgroup(std::uint64_t limit_bytes) {
    struct Version {
      const char* parent;
      const char* limit;
    };
    for (const Version& version : {Version{"/sys/fs/cgroup/memory", "/memory.limit_in_bytes"},
                                   Version{"/sys/fs/cgroup", "/memory.max"}}) {
      const std::string path = std::string(version.parent) + "/megascope-test-" +
                               std::to_string(getpid());
      if (access((std::string(version.parent) + "/cgroup.procs").c_str(), W_OK) != 0 ||
          mkdir(path.c_str(), 0755) != 0)
        continue;
      path_ = path;
      std::ofstream limit(path + version.limit);
      if (limit << limit_bytes << std::flush) return;
      remove();
    }
  }
  ~Cgroup() { remove(); }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  bool exists() const { return !path_.empty(); }
  /// The calling process, and what it starts.
  void enter() const { std::ofstream(path_ + "/cgroup.procs") << getpid() << std::flush; }

 private:
  void remove() {
    for (int i = 0; !path_.empty() && i < 100 && rmdir(path_.c_str()) != 0 && errno == EBUSY; ++i)
      usleep(10'000);
    path_.clear();
  }
  std::string path_;
};

TEST(Memory, OfACgroupIsNotTakenByBuffersInIt) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  const Cgroup cgroup(std::uint64_t{300} << 20);
  if (!cgroup.exists()) GTEST_SKIP() << "needs the right to make a memory cgroup";
  Trial trial("cheap", 24'000'000);  // 70 MB, packed
  trial.before_exec([&cgroup, directory = trial.scratch()] {
    mount_tmpfs(directory, "size=8g");
    cgroup.enter();
  });
  Child child(trial.preloaded());
  const Ending ending = child.wait(60);
  EXPECT_EQ(ending.signal, 0) << "killed for memory";
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "a rank in memory (" + trial.scratch() + ")"), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "up to 1 GiB a rank"), 0) << "the bound that counts is told\n"
                                                              << ending.err;
  EXPECT_EQ(occurrences(ending.err, "in memory (1/16 of what is available for 1 local rank)"), 1)
      << ending.err;
  const Read read = trial.trace();
  EXPECT_GT(read.call_count(), 2'500'000u);
  EXPECT_LT(read.call_count(), 8'000'000u) << "a sixteenth of 300 MiB";
}

/// While the program makes calls, a helper waits until its trace has grown beyond its first
/// buffers, and acts.
void act_meanwhile(const std::string& scratch, const std::function<void()>& action) {
  if (fork() != 0) return;
  for (int i = 0; i < 5000; ++i, usleep(1000)) {
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch, error)) {
      if (entry.path().extension() != ".mgt" || entry.file_size(error) < 1'000'000) continue;
      action();
      _exit(0);
    }
  }
  _exit(1);
}

constexpr std::uint64_t kLongCalls = 900'000;
constexpr const char* kGone = "the trace of rank 0 is missing: ";

/// The program's own output and code, one line about the disk, and the sums of all calls.
void expect_unharmed(const Trial& trial, const std::string& reason) {
  Child child(trial.preloaded());
  const Ending ending = child.wait(60);
  EXPECT_EQ(ending.signal, 0);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, std::to_string(kLongCalls + 2) + " calls\n");
  EXPECT_EQ(occurrences(ending.err, reason), 1) << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), kLongCalls + 2);
}

TEST(Disk, IsUnmountedMeanwhile) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("long", kLongCalls);
  trial.before_exec([directory = trial.scratch()] {
    mount_tmpfs(directory, "size=256m");
    act_meanwhile(directory, [directory] { umount2(directory.c_str(), MNT_DETACH); });
  });
  expect_unharmed(trial, "rank 0 stopped recording to disk: cannot open " + trial.scratch());
}

TEST(Disk, LosesTheDirectoryMeanwhile) {
  Trial trial("long", kLongCalls);
  trial.before_exec([directory = trial.scratch()] {
    act_meanwhile(directory, [directory] { std::filesystem::remove_all(directory); });
  });
  expect_unharmed(trial, "rank 0 stopped recording to disk: cannot open " + trial.scratch());
}

/// All that is recorded fits into the first buffers, which stay mapped.
TEST(Disk, LosesATraceThatNeedsNoMoreSpace) {
  Trial trial("cheap", 3000);
  trial.with("DIRECTORY_TO_REMOVE=" + trial.scratch());
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, "3002 calls\n");
  EXPECT_EQ(occurrences(ending.err, kGone + trial.scratch()), 1) << ending.err;
}

TEST(Disk, BecomesReadOnlyMeanwhile) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  const TemporaryDirectory images;
  if (!make_file_system(images / "image", "ext4", kDiskMebibytes))
    GTEST_SKIP() << "needs mkfs.ext4";
  Trial trial("long", kLongCalls);
  trial.before_exec([&images, directory = trial.scratch()] {
    if (!mount_image(images / "image", "ext4", directory)) _exit(77);
    act_meanwhile(directory, [directory] {
      mount("none", directory.c_str(), nullptr, MS_REMOUNT, "abort");
      for (int i = 0; i < 20; ++i) sync();
    });  // as after an error of the disk
  });
  expect_unharmed(trial, "Read-only file system");
}

}  // namespace
}  // namespace megascope::faults
