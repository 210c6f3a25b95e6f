#include "analysis/align/causality.h"

#include "analysis/match/no_sink.h"
#include "core/record/merged_calls.h"
#include "tests/analysis/random_program.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using test::collective;
using test::recv;
using test::SampleRun;
using test::send;

struct Restored {
  Causality causality;
  Matching after;
};

Restored restore(const RecordSource& source, unsigned jobs = 1) {
  const MatchTables tables(source);
  NoSink sink;
  const Matching before = match_run(source, tables, sink, jobs);
  Restored result{restore_causality(source, tables, before, {}, jobs), {}};
  const InOrder in_order(source, result.causality);
  const RecordSource& corrected = in_order.source();
  result.after = match_run(corrected, tables, sink, jobs);
  for (const std::int32_t rank :
       source.world_ranks()) {  // nothing may overtake, and nothing comes earlier
    MergedCalls calls(source, rank);
    MergedCalls moved(corrected, rank);
    LocationId location = 0;
    std::uint64_t last_ns = 0;
    while (const Call* call = calls.next(location)) {
      const Call* other = moved.next(location);
      EXPECT_GE(other->enter_ns, std::max(last_ns, call->enter_ns));
      EXPECT_GE(other->leave_ns, std::max(other->enter_ns, call->leave_ns));
      last_ns = other->enter_ns;
    }
  }
  return result;
}

std::uint64_t shift(const Restored& restored, std::size_t process, std::uint64_t time_ns) {
  return restored.causality.corrections[process].shift_ns(time_ns);
}

TEST(Causality, WhatIsPossibleIsNotMoved) {
  SampleRun run(2);
  run.spent(0, "MPI_Send", 10, 20, {send(1, 7)}).spent(1, "MPI_Recv", 5, 10, {recv(0, 7)});
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 0U);
  EXPECT_EQ(restored.causality.max_moved_ns, 0U);
}

TEST(Causality, AReceiveIsMovedBehindItsSend) {
  SampleRun run(2);
  run.spent(0, "MPI_Send", 1'000'050, 1'000'060, {send(1, 7)});
  run.spent(1, "MPI_Recv", 999'000, 1'000'000, {recv(0, 7)}).call(1, "MPI_Comm_rank", 1'002'000);
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 1U);
  EXPECT_EQ(restored.causality.worst_before_ns, 50U);
  EXPECT_EQ(restored.causality.max_moved_ns, 50U);
  EXPECT_EQ(restored.after.violation_count, 0U);
  EXPECT_EQ(shift(restored, 0, 1'000'050), 0U);
  EXPECT_EQ(shift(restored, 1, 1'000'000), 50U);
  EXPECT_EQ(shift(restored, 1, 1'002'000), 30U);  // on its way back
  EXPECT_EQ(shift(restored, 1, 1'005'000), 0U);
  EXPECT_EQ(shift(restored, 1, 999'000), 40U);  // drawn along
  EXPECT_EQ(shift(restored, 1, 990'000), 0U);
}

TEST(Causality, MovesGoOnAlongChains) {
  SampleRun run(3);
  run.spent(0, "MPI_Send", 100'000, 100'010, {send(1, 7)});
  run.spent(1, "MPI_Recv", 1'000, 60'000, {recv(0, 7)})
      .spent(1, "MPI_Send", 60'100, 60'200, {send(2, 7)});
  run.spent(2, "MPI_Recv", 1'000, 30'000, {recv(1, 7)});
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 2U);
  EXPECT_EQ(restored.after.violation_count, 0U);
  EXPECT_EQ(shift(restored, 1, 60'000), 40'000U);
  EXPECT_EQ(shift(restored, 2, 30'000), 60'100U + 39'999U - 30'000U);
}

TEST(Causality, NoneLeavesABarrierBeforeTheLastEntered) {
  SampleRun run(3);
  const std::uint64_t enters[] = {1'000, 500'000, 1'000};
  for (const std::int32_t rank : {0, 1, 2})
    run.spent(rank, "MPI_Barrier", enters[rank], enters[rank] + 500, {collective(0)});
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 2U);
  EXPECT_EQ(restored.after.violation_count, 0U);
  EXPECT_EQ(shift(restored, 1, 500'500), 0U);
  EXPECT_EQ(shift(restored, 0, 1'500), 498'500U);
}

TEST(Causality, StandsClocksThatStandStill) {
  SampleRun run(3);
  run.spent(0, "MPI_Barrier", 100'000, 100'000, {collective(0)})
      .spent(0, "MPI_Barrier", 100'000, 100'000, {collective(1)});
  run.spent(1, "MPI_Barrier", 50'000, 60'000, {collective(0)})
      .spent(1, "MPI_Barrier", 60'000, 60'000, {collective(1)});
  run.spent(2, "MPI_Barrier", 200'000, 200'000, {collective(0)})
      .spent(2, "MPI_Barrier", 200'000, 200'000, {collective(1)});
  const Restored restored = restore(*run.source());
  EXPECT_GT(restored.causality.violations_before, 0U);
  EXPECT_EQ(restored.after.violation_count, 0U);
}

TEST(Causality, OfABroadcastOnlyTheRootMustComeFirst) {
  SampleRun run(3);
  const std::uint64_t enters[] = {1'000, 500'000, 900'000};
  for (const std::int32_t rank : {0, 1, 2})
    run.spent(rank, "MPI_Bcast", enters[rank], enters[rank] + 500, {collective(0, 1)});
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 1U);
  EXPECT_EQ(restored.after.violation_count, 0U);
  EXPECT_EQ(restored.causality.max_moved_ns, 498'500U);
}

TEST(Causality, WhatIsDrawnAlongDoesNotComeTooLateForOthers) {
  SampleRun run(3);
  run.spent(0, "MPI_Send", 1'000'050, 1'000'060, {send(1, 7)});
  run.spent(1, "MPI_Send", 999'900, 999'910, {send(2, 7)})
      .spent(1, "MPI_Recv", 999'950, 1'000'000, {recv(0, 7)});
  run.spent(2, "MPI_Recv", 999'000, 999'905, {recv(1, 7)});
  const Restored restored = restore(*run.source());
  EXPECT_EQ(restored.causality.violations_before, 1U);
  EXPECT_EQ(restored.after.violation_count, 0U);
  EXPECT_EQ(restored.causality.max_moved_ns, 50U);
  EXPECT_EQ(shift(restored, 2, 999'905), 0U);
}

TEST(Causality, IsRestoredInRandomProgramsAtAnySkew) {
  for (std::uint32_t seed = 1; seed <= 4; ++seed) {
    for (const std::uint64_t skew_ns : {0U, 200'000U, 20'000'000U}) {
      const RandomProgram program = random_program(seed, skew_ns);
      const Restored restored = restore(*program.source, seed % 3 + 1);
      EXPECT_GT(restored.causality.violations_before, 0U);
      EXPECT_EQ(restored.after.violation_count, 0U) << "seed " << seed << " skew " << skew_ns;
      EXPECT_EQ(restored.after.message_count, program.message_count);
    }
  }
}

}  // namespace
}  // namespace megascope::analysis
