#include "tests/faults/trial.h"

#include <gtest/gtest.h>

/// Programs with children, with threads that live longer than MPI, and with no respect for
/// descriptors.
namespace megascope::faults {
namespace {

/// The same output and code as without the library; nothing on stderr but ours.
Ending expect_unharmed(const Trial& trial, const std::string& mode, std::uint64_t count = 100) {
  const Ending bare = run(Trial(mode, count).bare());
  EXPECT_EQ(bare.exit_code, 0) << bare.err;
  const Ending ending = run(trial.preloaded());
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, bare.exit_code) << ending.out << ending.err;
  EXPECT_EQ(ending.out, bare.out);
  return ending;
}

void expect_trace_of_one_thread(const Read& read, const Ledger& ledger) {
  ASSERT_EQ(read.locations.size(), 1u);
  expect_ledger(read.locations[0], ledger);
  EXPECT_EQ(read.loss_count(), 0u);
}

TEST(Fork, ChildrenGoOnCallingAndLeaveTheTraceAlone) {
  const Trial trial("fork-often");
  expect_unharmed(trial, "fork-often");
  expect_trace_of_one_thread(trial.trace(), *trial.ledger());
  EXPECT_EQ(trial.ledger()->count.load(), 1u + 20 * 20 * 6 + 1);
}

TEST(Fork, AChildMayAbort) {
  const Trial trial("fork-then-abort");
  expect_unharmed(trial, "fork-then-abort");
  const Read read = trial.trace();
  expect_trace_of_one_thread(read, *trial.ledger());
  EXPECT_EQ(read.definitions.info.end_state, EndState::kFinalized)
      << "it was the child that aborted";
}

TEST(Fork, AChildMayStartThreads) {
  const Trial trial("fork-then-thread");
  expect_unharmed(trial, "fork-then-thread");
  expect_trace_of_one_thread(trial.trace(), *trial.ledger());
}

TEST(Fork, OtherProgramsAreStarted) {
  const Trial trial("start-others");
  const Ending ending = expect_unharmed(trial, "start-others");
  expect_trace_of_one_thread(trial.trace(), *trial.ledger());
  EXPECT_EQ(occurrences(ending.err, "writes to"), 1) << ending.err;
}

TEST(Descriptors, AreTheProgramsOwn) {
  const Trial trial("close-descriptors", 200'000);
  expect_unharmed(trial, "close-descriptors", 200'000);
  expect_trace_of_one_thread(trial.recovered(), *trial.ledger());
}

TEST(Threads, OutliveFinalize) {
  const Trial trial("outlive-finalize");
  expect_unharmed(trial, "outlive-finalize");
  const Read read = trial.trace();
  EXPECT_EQ(read.locations.size(), 4u);
  EXPECT_EQ(read.definitions.info.end_state, EndState::kFinalized);
  EXPECT_EQ(read.definitions.losses[static_cast<std::size_t>(LossCause::kDamaged)], 0u);
  const std::vector<Row>& main = read.locations[0];
  ASSERT_FALSE(main.empty());
  EXPECT_EQ(main.back().function, "MPI_Finalize");
  for (std::size_t thread = 1; thread < read.locations.size(); ++thread) {
    ASSERT_FALSE(read.locations[thread].empty());
    EXPECT_FALSE(read.locations[thread].back().is_pending);
  }
}

TEST(Threads, ThatEndLeaveTheirCalls) {
  const Trial trial("short-threads");
  EXPECT_EQ(run(trial.preloaded()).exit_code, 3);
  const Read read = trial.recovered();
  std::size_t threads = 0;
  for (const std::vector<Row>& rows : read.locations) {
    threads += rows == std::vector<Row>(2, {.function = "MPI_Comm_rank"}) ? 1 : 0;
  }
  EXPECT_EQ(threads, 40u);
}

}  // namespace
}  // namespace megascope::faults
