#include "tests/faults/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

/// Calls that are left by an exception, a jump or the thread's cancellation. The trace says so of
/// them; calls made inside of them did return. Afterwards recording goes on as before.
namespace megascope::faults {
namespace {

using ::testing::ElementsAre;

void expect_calls_of_ledger(const std::vector<Row>& rows, const Ledger& ledger) {
  const std::vector<Row> expected = booked(ledger);
  std::vector<Row> recorded = rows;
  std::size_t nested = 0;
  for (Row& row : recorded) {
    if (row.function == "MPI_Error_string") {
      EXPECT_EQ(row.depth, 1);
      row.depth = 0;
      ++nested;
    }
    EXPECT_EQ(row.depth, 0) << row.function << " was not called inside of another call";
    if (testing::Test::HasFailure()) break;
  }
  for (Row& row : recorded) row.depth = 0;
  EXPECT_EQ(recorded.size(), expected.size());
  const auto [ours, theirs] = std::mismatch(recorded.begin(), recorded.end(), expected.begin(),
                                            expected.end());
  if (ours != recorded.end() && theirs != expected.end()) {
    ADD_FAILURE() << "call " << ours - recorded.begin() << ": trace has " << *ours << ", book has "
                  << *theirs;
  }
  EXPECT_EQ(nested, static_cast<std::size_t>(std::count_if(
                        expected.begin(), expected.end(),
                        [](const Row& row) { return row.function == "MPI_Error_string"; })));
}

void expect_recording_goes_on(const std::string& mode, const std::string& output) {
  const Ending bare = run(Trial(mode).bare());
  ASSERT_EQ(bare.out, output) << bare.err << "exit code " << bare.exit_code << " signal "
                              << bare.signal;
  const Trial trial(mode);
  const Ending ending = run(trial.preloaded());
  EXPECT_FALSE(ending.has_timed_out);
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, output);
  const Read read = trial.trace();
  ASSERT_FALSE(read.locations.empty());
  expect_calls_of_ledger(read.locations[0], *trial.ledger());
  for (std::size_t thread = 1; thread < read.locations.size(); ++thread) {
    EXPECT_THAT(read.locations[thread], ElementsAre(Row{.function = "MPI_Recv", .was_left = true}));
  }
  EXPECT_EQ(read.loss_count(), 0u);
  EXPECT_EQ(trial.report_number("mpi_calls"), static_cast<std::int64_t>(read.call_count()));
}

TEST(Unwind, ExceptionsFromAnErrorHandlerPassThrough) {
  expect_recording_goes_on("throw", "caught 50\n");
}
TEST(Unwind, JumpsOutOfAnErrorHandlerPassThrough) {
  expect_recording_goes_on("longjmp", "jumped 50\n");
}
TEST(Unwind, ThreadsAreCancelledInsideOfACall) {
  expect_recording_goes_on("cancel", "cancelled 5\n");
}

/// Ours have one, wherever a chunk of the trace is full: nothing may end there.
TEST(Unwind, ThreadsThatAreToBeCancelledGoOnBetweenCalls) {
  ASSERT_EQ(run(Trial("cancel-between").bare()).out, "cancelled 1\n");
  const Trial trial("cancel-between");
  const Ending ending = run(trial.preloaded());
  EXPECT_EQ(ending.exit_code, 0) << ending.err;
  EXPECT_EQ(ending.out, "cancelled 1\n");
  const Read read = trial.trace();
  ASSERT_EQ(read.locations.size(), 2u);
  EXPECT_EQ(read.locations[1].size(), 100'000u);
  EXPECT_EQ(read.loss_count(), 0u);
}

TEST(Unwind, ThreadsAreCancelledAtAnyInstruction) {
  expect_recording_goes_on("cancel-at-once", "cancelled 5\n");
}

}  // namespace
}  // namespace megascope::faults
