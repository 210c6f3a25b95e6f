#include "core/trace/join.h"
#include "tests/faults/disks.h"
#include "tests/faults/trial.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/// Storage that is full, forbidden or not there. The program runs as it does without the library;
/// what is not kept is counted, and the sums in the report are those of all calls.
namespace megascope::faults {
namespace {

constexpr std::uint64_t kManyCalls = 1'000'000;  // some 2.8 MB, packed
constexpr std::int64_t kManyBooked = kManyCalls + 2;

void limit(decltype(RLIMIT_FSIZE) what, rlim_t most) {
  const rlimit value{most, most};
  setrlimit(what, &value);
}

/// The program's own output and code; returns what it printed on stderr.
std::string expect_unharmed(const Trial& trial) {
  const Ending ending = run(trial.preloaded());
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.signal, 0);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, std::to_string(kManyBooked) + " calls\n");
  return ending.err;
}

/// What is in the trace and what is counted as lost are all calls, and so are the report's sums.
void expect_all_accounted_for(const Trial& trial, LossCause cause) {
  EXPECT_EQ(trial.report_number("mpi_calls"), kManyBooked);
  const Read read = trial.trace();
  const std::uint64_t lost = read.definitions.losses[static_cast<std::size_t>(cause)];
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(read.loss_count(), lost) << "by one cause only";
  EXPECT_EQ(read.call_count() + lost, static_cast<std::uint64_t>(kManyBooked));
  EXPECT_EQ(trial.losses_reported(), static_cast<std::int64_t>(lost));
}

TEST(Buffer, StopKeepsTheOldest) {
  Trial trial("cheap", kManyCalls);
  trial.with("MEGASCOPE_BUFFER_SIZE=1M");
  expect_unharmed(trial);
  expect_all_accounted_for(trial, LossCause::kBufferFull);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].front().function, "MPI_Init");
  EXPECT_NE(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_LE(std::filesystem::file_size(trial.run_directory() + "/rank-0.mgt"),
            std::uintmax_t{2} << 20);
}

TEST(Buffer, FlightKeepsTheNewest) {
  Trial trial("cheap", kManyCalls);
  trial.with("MEGASCOPE_BUFFER_SIZE=2M").with("MEGASCOPE_BUFFER_POLICY=flight");
  expect_unharmed(trial);
  expect_all_accounted_for(trial, LossCause::kBufferFull);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].front().function, "MPI_Comm_rank");
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_GT(read.call_count(), 60'000u) << "a good part of the buffer is in use";
}

TEST(Buffer, FlightInASmallBufferKeepsTheNewest) {
  Trial trial("cheap", kManyCalls);
  trial.with("MEGASCOPE_BUFFER_SIZE=1M").with("MEGASCOPE_BUFFER_POLICY=flight");
  expect_unharmed(trial);
  expect_all_accounted_for(trial, LossCause::kBufferFull);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
}

TEST(Storage, BecomesFull) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  trial.before_exec([directory = trial.scratch()] { mount_tmpfs(directory, "size=3m"); });
  const std::string err = expect_unharmed(trial);
  expect_all_accounted_for(trial, LossCause::kStorage);
  EXPECT_EQ(occurrences(err, "free, of which 384 KiB are left to the application"), 1) << err;
}

TEST(Storage, IsFullByAQuota) {
  Trial trial("cheap", kManyCalls);
  trial.with("QUOTA_OF_SCRATCH=1500000");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_QUOTA));
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, std::to_string(kManyBooked) + " calls\n");
  expect_all_accounted_for(trial, LossCause::kStorage);
  EXPECT_EQ(occurrences(ending.err, "Disk quota exceeded"), 1) << ending.err;
}

TEST(Storage, ThatAQuotaFillsKeepsTheNewestWithFlight) {
  Trial trial("cheap", kManyCalls);
  trial.with("QUOTA_OF_SCRATCH=1500000").with("MEGASCOPE_BUFFER_POLICY=flight");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_QUOTA));
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "rank 0 recorded fewer calls: "), 1) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "Disk quota exceeded"), 1) << ending.err;
  expect_all_accounted_for(trial, LossCause::kStorage);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_GT(read.call_count(), 60'000u);
}

TEST(Storage, IsReservedThoughSignalsInterrupt) {
  Trial trial("cheap", kManyCalls);
  trial.with("SIGNALS=1");
  const Ending ending = run(
      trial.preloaded_with(std::string(MEGASCOPE_TEST_LIBRARY) + ":" MEGASCOPE_TEST_QUOTA));
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(trial.trace().call_count(), static_cast<std::uint64_t>(kManyBooked))
      << "nothing is lost\n"
      << ending.err;
}

TEST(Storage, IsFullFromTheStart) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  trial.before_exec([directory = trial.scratch()] {
    mount_tmpfs(directory, "size=1m");
    std::ofstream(directory + "/filler") << std::string(2 << 20, 'x');
  });
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "records no trace"), 1) << err;
  EXPECT_EQ(trial.report_number("mpi_calls"), kManyBooked);
  EXPECT_EQ(trial.losses_reported(), kManyBooked);
}

TEST(Storage, IsReadOnly) {
  if (!can_mount()) GTEST_SKIP() << "needs the right to mount a file system";
  Trial trial("cheap", kManyCalls);
  trial.before_exec(
      [directory = trial.scratch()] { mount_tmpfs(directory, "size=1m", MS_RDONLY); });
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "records no trace"), 1) << err;
  EXPECT_EQ(occurrences(err, "Read-only file system"), 1) << err;
  EXPECT_EQ(trial.report_number("mpi_calls"), kManyBooked);
}

TEST(Storage, IsMissing) {
  Trial trial("cheap", kManyCalls);
  trial.with("MEGASCOPE_SCRATCH=" + trial.scratch() + "/not/there");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "records no trace"), 1) << err;
  EXPECT_EQ(trial.report_number("mpi_calls"), kManyBooked);
}

TEST(Storage, IsAFile) {
  Trial trial("cheap", kManyCalls);
  std::ofstream(trial.directory() / "file") << "of the user";
  trial.with("MEGASCOPE_SCRATCH=" + (trial.directory() / "file"));
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "records no trace"), 1) << err;
  EXPECT_EQ(read_text(trial.directory() / "file"), "of the user");
}

TEST(Storage, MissingOnEveryRankIsReportedOnce) {
  Trial trial("finish");
  trial.ranks(2).with("MEGASCOPE_SCRATCH=" + trial.scratch() + "/not/there");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(occurrences(ending.err, "records no trace"), 1) << ending.err;
  EXPECT_EQ(trial.report_number("mpi_calls"), 2 * 602);
}

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

TEST(Memory, ThatIsScarceEndsNoProgram) {
  constexpr int kNoLedger = 99;  // victim.cpp
  int passed = 0;
  for (const rlim_t max_kib :
       {rlim_t{85'000}, rlim_t{95'000}, rlim_t{105'000}, rlim_t{130'000}, rlim_t{200'000}}) {
    const auto scarce = [max_kib] { limit(RLIMIT_AS, max_kib << 10); };
    Trial bare("cheap", kManyCalls);
    bare.before_exec(scarce);
    if (run(bare.bare()).exit_code != 0) continue;
    Trial trial("cheap", kManyCalls);
    trial.with("MEGASCOPE_EXPORT=otf2,perfetto,chrome").before_exec(scarce);
    const Ending ending = run(trial.preloaded());
    // Open MPI's modules, or the program's own 8 MiB, have no space beside the library: they say
    // so, and no process is ended.
    const bool is_too_little = ending.exit_code == kNoLedger ||
                               ending.err.find("failed to map segment") != std::string::npos;
    if (ending.exit_code != 0 && ending.signal == 0 && is_too_little) continue;
    EXPECT_EQ(ending.exit_code, 0) << max_kib << " KiB: signal " << ending.signal << "\n"
                                   << ending.err;
    ++passed;
  }
  EXPECT_GT(passed, 0);
}

/// The kernel would end the program by SIGXFSZ at the first byte beyond its limit.
TEST(FileSizeLimit, IsKept) {
  for (const rlim_t most : {rlim_t{16} << 10, rlim_t{300} << 10, rlim_t{2} << 20}) {
    Trial trial("cheap", kManyCalls);
    ASSERT_NE(Ledger::open((trial.directory() / "book.0").c_str()),
              nullptr);  // larger than the limit
    trial.before_exec([most] { limit(RLIMIT_FSIZE, most); });
    const std::string err = expect_unharmed(trial);
    EXPECT_EQ(occurrences(err, "file-size limit"), 1) << most << err;
    EXPECT_EQ(trial.report_number("mpi_calls"), kManyBooked) << most;
    EXPECT_GT(trial.losses_reported(), 0) << most;
  }
}

TEST(FileSizeLimit, KeepsTheNewestWithFlight) {
  Trial trial("cheap", kManyCalls);
  ASSERT_NE(Ledger::open((trial.directory() / "book.0").c_str()), nullptr);
  trial.with("MEGASCOPE_BUFFER_POLICY=flight").before_exec([] {
    limit(RLIMIT_FSIZE, rlim_t{2} << 20);
  });
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "file-size limit"), 1) << err;
  expect_all_accounted_for(trial, LossCause::kStorage);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_GT(read.call_count(), 60'000u);
}

TEST(FileSizeLimit, IsKeptByExports) {
  Trial trial("cheap", 3000);
  ASSERT_NE(Ledger::open((trial.directory() / "book.0").c_str()), nullptr);
  trial.with("MEGASCOPE_EXPORT=otf2,perfetto,chrome").before_exec([] {
    limit(RLIMIT_FSIZE, rlim_t{4} << 10);
  });
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.signal, 0);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, "3002 calls\n");
}

TEST(Descriptors, UsedUpStopTheTraceOnly) {
  Trial trial("exhaust-and-return-descriptors", kManyCalls);
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "Too many open files"), 1) << err;
  EXPECT_EQ(occurrences(err, "rank 0 stopped recording to disk: "), 1) << err;
  expect_all_accounted_for(trial, LossCause::kNoBuffer);
}

TEST(Descriptors, UsedUpForAWhileCostAFlightRecorderThatTimeOnly) {
  Trial trial("exhaust-and-return-descriptors", kManyCalls);
  trial.with("MEGASCOPE_BUFFER_POLICY=flight");
  const std::string err = expect_unharmed(trial);
  EXPECT_EQ(occurrences(err, "rank 0 recorded fewer calls: "), 1) << err;
  expect_all_accounted_for(trial, LossCause::kNoBuffer);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  EXPECT_EQ(read.locations[0].front().function, "MPI_Init");
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
}

TEST(Descriptors, UsedUpForGoodLeaveTheProgramAlone) {
  const Trial trial("exhaust-descriptors", kManyCalls);
  expect_unharmed(trial);
}

/// No process reads the messages: the program is not to die of SIGPIPE.
TEST(Stderr, MayBeAClosedPipe) {
  Trial trial("finish");
  trial.before_exec([] {
    int ends[2];
    if (pipe(ends) != 0) _exit(125);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
  });
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.signal, 0);
  EXPECT_EQ(ending.exit_code, 0);
  EXPECT_EQ(ending.out, "602 calls\n");
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
}

}  // namespace
}  // namespace megascope::faults
