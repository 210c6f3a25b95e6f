#include "core/trace/join.h"
#include "tests/faults/disks.h"
#include "tests/faults/unharmed.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// Run directories that cannot be made or have no space for what is written at the end.
namespace megascope::faults {
namespace {

TEST(RunDirectory, CannotBeMade) {
  Trial trial("cheap", kManyCalls);
  std::ofstream(trial.directory() / "file") << "of the user";
  trial.with("MEGASCOPE_OUT=" + (trial.directory() / "file/run"))
      .with("MEGASCOPE_EXPORT=otf2,perfetto,chrome");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "Not a directory"), 1) << err;
  EXPECT_EQ(read_text(trial.directory() / "file"), "of the user");
  for (const char* name :
       {"/trace.otf2", "/traces.otf2", "/trace.perfetto-trace", "/trace.json.gz", "/otf2"}) {
    EXPECT_FALSE(std::filesystem::exists(name)) << name;
    EXPECT_FALSE(std::filesystem::exists(trial.directory() / name)) << name;
  }
}

TEST(RunDirectory, IsOnAFullDisk) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  const std::string disk = trial.directory() / "disk";
  std::filesystem::create_directory(disk);
  trial.before_exec([disk] { mount_tmpfs(disk, "size=1m"); });
  trial.with("MEGASCOPE_OUT=" + disk + "/run").with("MEGASCOPE_EXPORT=otf2,perfetto,chrome");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "stays on its node"), 1) << err;
  EXPECT_GE(occurrences(err, "No space left on device"), 1) << err;
  std::vector<std::string> traces;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(trial.scratch())) {
    if (entry.path().filename() == "rank-0.mgt") traces.push_back(entry.path().parent_path());
  }
  ASSERT_EQ(traces.size(), 1u);
  trace::JoinResult joined;
  ASSERT_TRUE(trace::join_run(traces, trial.run_directory(), joined).is_ok())
      << "to where there is space";
  EXPECT_EQ(trial.trace().call_count(), kManyBooked) << "nothing is lost";
}

/// The trace takes 3.7 MB, the exports of its 16 MB of records 55 MB.
TEST(RunDirectory, IsOnADiskWithoutSpaceForExports) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  const std::string disk = trial.directory() / "disk";
  std::filesystem::create_directory(disk);
  trial.before_exec([disk] { mount_tmpfs(disk, "size=40m"); });
  trial.with("MEGASCOPE_OUT=" + disk + "/run").with("MEGASCOPE_EXPORT=otf2,perfetto");
  trial.with("MEGASCOPE_REPORT=full");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "failed: cannot export: less than "), 2) << err;
  EXPECT_EQ(occurrences(err, "No space left on device"), 0) << err;
}

/// By default runs of up to 1 GiB of records are exported, also if their traces are packed to a
/// fraction of it.
TEST(RunDirectory, GetsNoExportsOfManyCallsByDefault) {
  constexpr std::uint64_t kCalls = 68'000'000;  // of 16 bytes each
  Trial trial("cheap", kCalls);
  trial.with("MEGASCOPE_EXPORT=");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), static_cast<std::int64_t>(kCalls) + 2);
  EXPECT_TRUE(std::filesystem::exists(trial.run_directory() + "/rank-0.mgt"));
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory() + "/trace.perfetto-trace"));
}

TEST(RunDirectory, IsOnADiskWithoutSpaceForTheReport) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  const std::string disk = trial.directory() / "disk";
  std::filesystem::create_directory(disk);
  trial.before_exec([disk] { mount_tmpfs(disk, "size=4k"); });
  trial.with("MEGASCOPE_OUT=" + disk + "/run").with("MEGASCOPE_REPORT=short");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, disk + "/run/report.txt was not written; `megascope report "), 1)
      << err;
  EXPECT_EQ(occurrences(err, "done; report in"), 0) << err;
}

TEST(RunDirectory, IsOnAFullQuota) {
  Trial trial("cheap", kManyCalls);
  trial.with("MEGASCOPE_EXPORT=otf2,perfetto,chrome");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_QUOTA));
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, std::to_string(kManyBooked) + " calls\n");
  EXPECT_GE(occurrences(ending.err, "Disk quota exceeded"), 1) << ending.err;
  EXPECT_FALSE(std::filesystem::exists(trial.run_directory() + "/trace.otf2"))
      << "which libotf2 could not have written to its end";
  EXPECT_EQ(trial.trace().call_count(), kManyBooked) << "nothing is lost";
  const std::set<std::string> results{"options.sh", "rank-0.mgt", "report.json", "report.txt",
                                      "run-id"};
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(trial.run_directory()))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names, results) << "the file that reserved space for the exports is removed";
}

/// Two ranks, and a disk that is full for both from some write of the archive on.
TEST(RunDirectory, IsOnADiskThatBecomesFullDuringAnExport) {
  constexpr std::int64_t kCalls = 2 * kManyBooked;
  for (const int first : {1, 2, 4, 6, 8}) {
    Trial trial("cheap", kManyCalls);
    trial.ranks(2).with("MEGASCOPE_EXPORT=otf2").with("FULL_FROM=" + std::to_string(first));
    const Ending ending = run(
        trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_FULL_DISK));
    EXPECT_EQ(ending.exit_code, 0) << first << ": " << ending.err;
    EXPECT_EQ(occurrences(ending.out, std::to_string(kManyBooked) + " calls\n"), 2) << first;
    EXPECT_EQ(occurrences(ending.err, "No space left on device"), 1) << first << ": " << ending.err;
    EXPECT_EQ(trial.report_number("mpi_calls"), kCalls) << first;
    EXPECT_EQ(trial.trace(0).call_count() + trial.trace(1).call_count(),
              static_cast<std::uint64_t>(kCalls))
        << first;
    for (const auto& entry : std::filesystem::directory_iterator(trial.run_directory())) {
      const std::string name = entry.path().filename();
      EXPECT_FALSE(name.ends_with(".part") ||
                   (name.starts_with("trace") && !name.ends_with(".json.gz")))
          << first << ": " << name;
    }
  }
}

}  // namespace
}  // namespace megascope::faults
