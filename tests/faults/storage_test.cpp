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

/// Storage that is full, forbidden or not there. The program runs as it does without the library;
/// what is not kept is counted, and the sums in the report are those of all calls.
namespace megascope::faults {
namespace {

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
  EXPECT_EQ(read.locations[0].back().function, "MPI_Finalize");
  EXPECT_GT(read.call_count(), 1u) << "the buffer that was in use when descriptors came back";
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
