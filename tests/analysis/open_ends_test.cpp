#include "analysis/hang/open_ends.h"

#include "plugin/answer/end_words.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using test::recv;
using test::SampleRun;
using test::send;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Ends {
  std::vector<std::int32_t> first;
  FirstEnd evidence = FirstEnd::kNotShown;
  std::string text;
};

Ends ends_of(const SampleRun& run, const std::vector<std::int32_t>& missing = {},
             Existence existence = Existence::kUnknown) {
  const auto source = run.source(missing);
  const CommTable comms(*source);
  const HangReport report = analyze_hang(
      *source, comms, [existence](const ProcessInfo&) { return existence; }, 1);
  const OpenEnds ends = find_open_ends(report, comms);
  return {ends.first, ends.evidence, answer::open_ends_text(report, ends)};
}

TEST(OpenEnds, AreNoneInAFinishedRun) {
  SampleRun run(2);
  run.finish(10);
  EXPECT_EQ(ends_of(run).text, "");
}

TEST(OpenEnds, AreNoneInARunThatGoesOn) {
  SampleRun run(2);
  run.call(0, "MPI_Send", 5, {send(1, 5)}).in(1, "MPI_Recv", 10, {recv(0, 6)});
  EXPECT_EQ(ends_of(run, {}, Existence::kExists).text, "");
}

TEST(OpenEnds, OneOfSeveralInACallThatAllHaveEnteredIsNamedWithTheOthers) {
  SampleRun run(3);
  for (const std::int32_t rank : {0, 1})
    run.collective(rank, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true);
  run.collective(2, "MPI_Barrier", 11, 0, 0)
      .collective(2, "MPI_Barrier", 20, 0, 1, kNoPeer, 0, true);
  const Ends ends = ends_of(run);
  EXPECT_EQ(ends.evidence, FirstEnd::kOneOf);
  EXPECT_THAT(ends.first, ElementsAre(0, 1));
  EXPECT_THAT(ends.text, ::testing::HasSubstr("Ranks 0, 1 did not reach MPI_Finalize: they were "
                                              "killed in calls that could have returned"));
}

TEST(OpenEnds, OfRanksThatAreAllInTheSameCallNoneIsAccused) {
  SampleRun run(3);
  for (const std::int32_t rank : {0, 1, 2})
    run.collective(rank, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true);
  const Ends ends = ends_of(run);
  EXPECT_EQ(ends.evidence, FirstEnd::kNotShown);
  EXPECT_THAT(
      ends.text,
      ::testing::HasSubstr(
          "Ranks 0-2 did not reach MPI_Finalize, and the traces do not show which ended first."));
}

TEST(OpenEnds, ADeadlockAccusesNoneWhoWorks) {
  SampleRun run(3);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)})
      .in(1, "MPI_Recv", 20, {recv(0, 5)})
      .call(2, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run).first, IsEmpty());
}

TEST(OpenEnds, TwoThatWorkAreNotAccused) {
  SampleRun run(3);
  run.collective(0, "MPI_Barrier", 10, 0, 0, kNoPeer, 0, true)
      .call(1, "MPI_Comm_rank", 5)
      .call(2, "MPI_Comm_rank", 6);
  EXPECT_THAT(ends_of(run).first, IsEmpty());
}

TEST(OpenEnds, AreFollowedThroughOthers) {
  SampleRun run(3);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)})
      .in(1, "MPI_Recv", 20, {recv(2, 5)})
      .call(2, "MPI_Comm_rank", 5);
  const Ends ends = ends_of(run);
  EXPECT_THAT(ends.first, ElementsAre(2));
  EXPECT_EQ(ends.evidence, FirstEnd::kAwaited);
}

TEST(OpenEnds, ARankThatLostRecordsIsNotAccused) {
  SampleRun run(2);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).call(1, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run).first, ElementsAre(1));
  run.process(1).definitions().losses[static_cast<std::size_t>(LossCause::kBufferFull)] = 3;
  EXPECT_THAT(ends_of(run).first, IsEmpty()) << "it may have sent, and be anywhere";
}

TEST(OpenEnds, MissingTracesAreCounted) {
  SampleRun run(3);
  run.in(0, "MPI_Recv", 10, {recv(1, 5)}).call(1, "MPI_Comm_rank", 5);
  EXPECT_THAT(ends_of(run, {2}).text,
              ::testing::HasSubstr("The state of the rank without a trace is unknown."));
}

}  // namespace
}  // namespace megascope::analysis
