#include "analysis/hang/open_ends.h"

#include "plugin/answer/end_words.h"
#include "tests/analysis/synthetic_run.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Ends {
  std::vector<std::int32_t> first;
  FirstEnd evidence = FirstEnd::kNotShown;
  std::string text;
};

Ends ends_of(const SyntheticRun& run, const std::vector<std::int32_t>& missing = {},
             Life life = Life::kUnknown) {
  const auto source = run.source(missing);
  const CommTable comms(*source);
  const HangReport report = analyze_hang(
      *source, comms, [life](const ProcessInfo&) { return life; }, 1);
  const OpenEnds ends = find_open_ends(report, comms);
  return {ends.first, ends.evidence, answer::open_ends_text(report, ends)};
}

TEST(OpenEnds, AreNoneInAFinishedRun) {
  SyntheticRun run(2);
  run.finish(10);
  EXPECT_EQ(ends_of(run).text, "");
}

TEST(OpenEnds, AreNoneInARunThatGoesOn) {
  SyntheticRun run(2);
  run.call(0, "MPI_Send", 5, {send(1, 5)}).in(1, "MPI_Recv", 10, {receive(0, 6)});
  EXPECT_EQ(ends_of(run, {}, Life::kRuns).text, "");
}

TEST(OpenEnds, OneOfSeveralInACallThatAllHaveEnteredIsNamedWithTheOthers) {
  SyntheticRun run(3);
  for (const std::int32_t rank : {0, 1})
    run.collective(rank, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true);
  run.collective(2, "MPI_Barrier", 11, 0, 0)
      .collective(2, "MPI_Barrier", 20, 0, 1, kNoPeer, 0, true);
  const Ends ends = ends_of(run);
  EXPECT_EQ(ends.evidence, FirstEnd::kOneOf);
  EXPECT_THAT(ends.first, ElementsAre(0, 1));
  EXPECT_THAT(
      ends.text,
      ::testing::HasSubstr("Ranks 0, 1 have no end: they were killed in calls that could return"));
}

TEST(OpenEnds, OfRanksThatAreAllInTheSameCallNoneIsAccused) {
  SyntheticRun run(3);
  for (const std::int32_t rank : {0, 1, 2})
    run.collective(rank, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true);
  const Ends ends = ends_of(run);
  EXPECT_EQ(ends.evidence, FirstEnd::kNotShown);
  EXPECT_THAT(
      ends.text,
      ::testing::HasSubstr("Ranks 0-2 have no end, and the traces do not show which ended first."));
}

TEST(OpenEnds, ADeadlockAccusesNoneWhoWorks) {
  SyntheticRun run(3);
  run.in(0, "MPI_Recv", 10, {receive(1, 5)})
      .in(1, "MPI_Recv", 20, {receive(0, 5)})
      .call(2, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run).first, IsEmpty());
}

TEST(OpenEnds, TwoThatWorkAreNotAccused) {
  SyntheticRun run(3);
  run.collective(0, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true)
      .call(1, "MPI_Comm_rank", 5)
      .call(2, "MPI_Comm_rank", 6);
  EXPECT_THAT(ends_of(run).first, IsEmpty());
}

TEST(OpenEnds, AreFollowedThroughOthers) {
  SyntheticRun run(3);
  run.in(0, "MPI_Recv", 10, {receive(1, 5)})
      .in(1, "MPI_Recv", 20, {receive(2, 5)})
      .call(2, "MPI_Comm_rank", 5);
  const Ends ends = ends_of(run);
  EXPECT_THAT(ends.first, ElementsAre(2));
  EXPECT_EQ(ends.evidence, FirstEnd::kAwaited);
}

TEST(OpenEnds, ARankThatLostRecordsIsNotAccused) {
  SyntheticRun run(2);
  run.in(0, "MPI_Recv", 10, {receive(1, 5)}).call(1, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run).first, ElementsAre(1));
  run.process(1).definitions.losses[static_cast<std::size_t>(LossCause::kBufferFull)] = 3;
  EXPECT_THAT(ends_of(run).first, IsEmpty()) << "it may have sent, and be anywhere";
}

TEST(OpenEnds, MissingTracesAreCounted) {
  SyntheticRun run(3);
  run.in(0, "MPI_Recv", 10, {receive(1, 5)}).call(1, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run, {2}).text,
              ::testing::HasSubstr("Nothing is known of the rank without a trace."));
}

}  // namespace
}  // namespace megascope::analysis
