#include "tests/faults/launch.h"
#include "tests/faults/trial.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <signal.h>

/// Programs that end by themselves, without MPI_Finalize. They end as they do without the library,
/// and their trace is their book.
namespace megascope::faults {
namespace {

void expect_same_ending(const std::string& mode, int exit_code, int signal) {
  const Trial without(mode);
  const Ending bare = run(without.bare());
  EXPECT_EQ(bare.exit_code, exit_code) << bare.err;
  EXPECT_EQ(bare.signal, signal);
  const Trial trial(mode);
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, bare.exit_code) << ending.err;
  EXPECT_EQ(ending.signal, bare.signal);
  EXPECT_EQ(ending.out, bare.out);
  const Read read = trial.recovered();
  ASSERT_EQ(read.locations.size(), 1u);
  expect_ledger(read.locations[0], *trial.ledger());
  EXPECT_EQ(read.loss_count(), 0u);
  EXPECT_EQ(trial.ledger()->count.load(), 601u);  // MPI_Init and 100 rounds of six
}

TEST(Ending, UnderscoreExit) { expect_same_ending("_exit", 3, 0); }
TEST(Ending, ExitFromWithinAFunction) { expect_same_ending("exit", 4, 0); }
TEST(Ending, ReturnFromMainWithoutFinalize) { expect_same_ending("return", 5, 0); }
TEST(Ending, SegmentationFault) { expect_same_ending("segv", -1, SIGSEGV); }
TEST(Ending, Terminated) { expect_same_ending("sigterm", -1, SIGTERM); }
TEST(Ending, StandardAbort) { expect_same_ending("std-abort", -1, SIGABRT); }

TEST(Ending, MpiAbort) {
  expect_same_ending("abort", 7, 0);
  const Trial trial("abort");
  run(trial.preloaded());
  const Read read = trial.recovered();
  EXPECT_EQ(read.definitions.info.end_state, EndState::kAborted);
  ASSERT_EQ(read.locations.size(), 1u);
  EXPECT_EQ(read.locations[0].back(),
            (Row{.function = "MPI_Abort", .tag = -1, .depth = 0, .is_pending = true}));
}

/// mpirun passes on what its processes end with.
TEST(Ending, CodesReachTheLauncher) {
  for (const auto& [mode, code] :
       {std::pair("abort", 7), std::pair("segv", is_mpich() ? 11 : 139), std::pair("_exit", 3)}) {
    Trial trial(mode);
    trial.ranks(2);
    const Ending ending = run(trial.preloaded());
    EXPECT_FALSE(ending.has_timed_out);
    EXPECT_EQ(ending.exit_code, code) << ending.err;
    const Ending bare = run(Trial(mode).ranks(2).bare());
    EXPECT_EQ(bare.exit_code, code);
    for (int rank = 0; rank < 2; ++rank) {
      if (trial.ledger(rank) == nullptr) continue;  // ended by the launcher before it began
      if (!std::filesystem::exists(trial.run_directory()))
        continue;  // so was rank 0, which makes the directory
      const Read read = trial.recovered(rank);
      ASSERT_EQ(read.locations.size(), 1u) << mode;
      expect_ledger(read.locations[0], *trial.ledger(rank));
    }
  }
}

TEST(Ending, NormalOneLeavesTheSameLedger) {
  const Trial trial("finish");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, "602 calls\n");
  const Read read = trial.trace();
  ASSERT_EQ(read.locations.size(), 1u);
  expect_ledger(read.locations[0], *trial.ledger());
  EXPECT_EQ(read.locations[0].size(), 602u);
  EXPECT_EQ(read.definitions.info.end_state, EndState::kFinalized);
  EXPECT_EQ(trial.report_number("mpi_calls"), 602);
  EXPECT_EQ(trial.losses_reported(), 0);
}

}  // namespace
}  // namespace megascope::faults
