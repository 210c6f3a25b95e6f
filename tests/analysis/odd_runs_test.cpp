// Runs that are not as the rules would like them: what is said of each.
#include "analysis/synth/synth.h"
#include "plugin/answer/answer.h"
#include "plugin/answer/synced_run.h"
#include "spinning_program.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace megascope {
namespace {

using detect::RootCause;
using synth::FaultKind;
using synth::RunSpec;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Every rank's clock is the same, or was never compared with the others.
RunTime time_of(const RecordSource& run, bool is_measured) {
  RunTime time;
  for (const std::int32_t rank : run.world_ranks())
    time.domains[clock_domain_id(run.process(rank).info.clock.domain)].is_measured = is_measured;
  return time;
}

struct Judged {
  std::vector<std::int32_t> ranks;  ///< of all root causes, ascending
  std::vector<RootCause> root_causes;
  std::vector<std::string> limits;
  std::vector<std::string> scenarios;  ///< names
  std::string verdict;
};
Judged judged(const RecordSource& run, bool is_measured = true) {
  answer::Answer answer(run, time_of(run, is_measured), {.has_replay = true});
  Judged result;
  result.root_causes = answer.view().detection.root_causes;
  std::set<std::int32_t> ranks;
  for (const RootCause& root_cause : result.root_causes)
    ranks.insert(root_cause.ranks.begin(), root_cause.ranks.end());
  result.ranks.assign(ranks.begin(), ranks.end());
  result.limits = answer::limits_of(answer.view());
  result.verdict = answer::verdict_text(answer.view());
  for (const whatif::Scenario& scenario : answer.replay().scenarios)
    result.scenarios.push_back(scenario.name);
  return result;
}

RunSpec grid(std::vector<synth::Fault> faults = {}) {
  RunSpec spec;
  spec.tp = 2;
  spec.pp = 2;
  spec.dp = 2;
  spec.layers = 2;
  spec.faults = std::move(faults);
  return spec;
}

/// The run's ranks with these places, or without some ranks.
MemorySource changed(const RecordSource& run, const std::vector<std::vector<ParallelIndex>>& places,
                     const std::set<std::int32_t>& missing = {}) {
  MemorySource copy(run.world_size());
  for (const std::int32_t rank : run.world_ranks()) {
    if (missing.contains(rank)) continue;
    MemorySource::Process process{run.process(rank), {}};
    if (!places.empty()) process.definitions.info.parallel = places[static_cast<std::size_t>(rank)];
    auto& calls = process.locations.emplace_back();
    const auto stream = run.calls(rank, 0);
    for (Call call; stream->next(call);) {
      calls.push_back(
          {call, {call.facts.begin(), call.facts.end()}, {call.posted.begin(), call.posted.end()}});
    }
    copy.add(std::move(process));
  }
  return copy;
}

/// tp is the fastest, then dp, then pp, as synth has it; or with `pp` and `dp` exchanged.
std::vector<std::vector<ParallelIndex>> places(bool is_right) {
  std::vector<std::vector<ParallelIndex>> all;
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const std::int32_t second = rank / 2 % 2;
    const std::int32_t third = rank / 4;
    all.push_back({{"tp", rank % 2, 2}, {"dp", second, 2}, {"pp", third, 2}});
    if (!is_right)
      all.back() = {{"tp", rank % 2, 2}, {"dp", third, 2}, {"pp", (second + third) % 2, 2}};
  }
  return all;
}

TEST(SpecifiedGroups, ThatContradictTheMessagesAreReportedAndIgnored) {
  const synth::SynthRun run(
      grid({{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.3}}));
  const Judged right = judged(changed(run, places(true)));
  EXPECT_THAT(right.ranks, ElementsAre(5)) << right.verdict;
  EXPECT_THAT(right.verdict, HasSubstr("pp 1"));
  EXPECT_THAT(right.scenarios, Contains(HasSubstr("pp ")));
  EXPECT_THAT(right.limits, Not(Contains(HasSubstr("contradict"))));
  const Judged wrong = judged(changed(run, places(false)));
  EXPECT_THAT(wrong.ranks, ElementsAre(5)) << wrong.verdict;
  EXPECT_THAT(wrong.verdict, Not(HasSubstr("pp ")));
  EXPECT_THAT(wrong.scenarios, Not(Contains(HasSubstr("pp "))));
  EXPECT_THAT(wrong.limits, Contains(HasSubstr("the specified parallel groups are ignored: they "
                                               "contradict")));
}

TEST(MissingRanks, AreReportedAndTheOthersAreJudged) {
  const synth::SynthRun run(
      grid({{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.3}}));
  const Judged found = judged(changed(run, {}, {2}));
  EXPECT_THAT(found.ranks, ElementsAre(5)) << found.verdict;
  EXPECT_THAT(found.limits, Contains(HasSubstr("No trace of rank 2 is available")));
}

TEST(MissingRanks, OfAGroupThatSynchronisesInsideLeaveTheRestOfIt) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  const Judged found = judged(changed(program.run(), {}, {0}));
  EXPECT_THAT(found.ranks, ElementsAre(2)) << found.verdict;
}

TEST(GroupsOfOne, AreJudgedAsIfThereWereNone) {
  SpinningProgram program;
  program.group_size = 1;
  program.before = {1, 1, 1.3, 1};
  const Judged found = judged(program.run());
  EXPECT_THAT(found.ranks, ElementsAre(2)) << found.verdict;
  EXPECT_THAT(found.limits, Not(Contains(HasSubstr("synchronise"))));
}

TEST(MembersThatAreAllLateAlike, AreAllNamed) {
  SpinningProgram program;
  program.ranks = 8;
  program.group_size = 2;
  program.before = {1, 1, 1.3, 1.3, 1, 1, 1, 1};
  program.inside.assign(8, 1.0);
  program.clock_ns.assign(8, 0);
  const Judged found = judged(program.run());
  EXPECT_THAT(found.ranks, ElementsAre(2, 3)) << found.verdict;
}

RootCause slow(detect::Cause cause, std::int32_t rank, std::int32_t first, std::int32_t last) {
  RootCause root_cause;
  root_cause.cause = cause;
  root_cause.ranks = {rank};
  root_cause.factor = 1.3;
  root_cause.onset_step = first;
  root_cause.last_step = last;
  for (std::int32_t step = first; step <= last; ++step) root_cause.steps.push_back(step);
  root_cause.active_steps = last - first + 1;
  return root_cause;
}

/// A slow rank 0 and another cause, after the causes of one group of ranks 0 and 1 of four were
/// joined.
std::vector<RootCause> joined(const RootCause& second) {
  SpinningProgram program;
  program.group_size = 2;
  program.before = {1.3, 1, 1, 1};
  const MemorySource run = program.run();
  const answer::SyncedRun synced(run, {}, 1);
  EXPECT_TRUE(synced.has_waits());
  std::vector<RootCause> root_causes = {slow(detect::Cause::kSlowCompute, 0, 0, 20), second};
  synced.join(root_causes);
  return root_causes;
}

TEST(MembersThatAreAllLateAlike, AreOneCauseWhereEachIsSlowAtTheSameTime) {
  const auto both = joined(slow(detect::Cause::kSlowCompute, 1, 10, 29));
  ASSERT_EQ(both.size(), 1U);
  EXPECT_THAT(both[0].ranks, ElementsAre(0, 1));
  EXPECT_EQ(both[0].onset_step, 0);
  EXPECT_EQ(both[0].last_step, 29);
  EXPECT_EQ(both[0].active_steps, 30);
  EXPECT_EQ(joined(slow(detect::Cause::kSlowCompute, 1, 21, 29)).size(), 2U)
      << "one after the other";
  EXPECT_EQ(joined(slow(detect::Cause::kHostStall, 0, 0, 20)).size(), 2U)
      << "two causes of one rank: rank 1 is healthy";
}

TEST(OperationsThatSynchroniseSometimes, DoNotMakeTheOnesWhoWaitSlow) {
  for (const std::int32_t every : {2, 3}) {
    SpinningProgram program;
    program.group_size = 2;
    program.before = {1, 1.3, 1, 1};
    program.steps = 60;
    program.sync_every = every;
    const Judged found = judged(program.run());
    EXPECT_THAT(found.ranks, ElementsAre(1)) << every << ": " << found.verdict;
  }
}

/// What ends together is not known then: the group is slow, or no rank is named.
TEST(ClocksThatWereNeverCompared, AreReportedAndNoneOfAnotherGroupIsAccused) {
  SpinningProgram program;
  program.group_size = 2;
  program.before = {1, 1.3, 1, 1};
  program.clock_ns = {0, 40'000'000, 90'000'000, 10'000'000};
  const Judged found = judged(program.run(), /*is_measured=*/false);
  EXPECT_THAT(found.ranks, Not(Contains(testing::Ge(2)))) << found.verdict;
  EXPECT_THAT(found.limits, Contains(HasSubstr("never compared")));
}

/// How long a rank takes is told by its own clock.
TEST(ClocksThatWereNeverCompared, HideNoSlowRank) {
  SpinningProgram program;
  program.has_hidden_sync = false;
  program.before = {1, 1.3, 1, 1};
  program.clock_ns = {0, 40'000'000, 90'000'000, 10'000'000};
  const Judged found = judged(program.run(), /*is_measured=*/false);
  EXPECT_THAT(found.ranks, ElementsAre(1)) << found.verdict;
}

TEST(StepsThatDifferInTheirSequence, AreStillJudged) {
  SpinningProgram program;
  program.group_size = 2;
  program.before = {1, 1, 1.3, 1};
  program.steps = 60;
  program.extra_calls_from = 20;
  const Judged found = judged(program.run());
  EXPECT_THAT(found.ranks, ElementsAre(2)) << found.verdict;
}

TEST(TwoRanks, AreJudgedWithAndWithoutHiddenSynchronisation) {
  for (const bool has_sync : {false, true}) {
    SpinningProgram program;
    program.ranks = 2;
    program.group_size = 2;
    program.before = {1, 1.3};
    program.inside = {1, 1};
    program.clock_ns = {0, 0};
    program.has_hidden_sync = has_sync;
    const Judged found = judged(program.run());
    EXPECT_THAT(found.ranks, ElementsAre(1)) << found.verdict;
  }
}

TEST(StepsOfAHundredThousandOperations, AreJudged) {
  SpinningProgram program;
  program.ranks = 2;
  program.group_size = 2;
  program.before = {1, 1.3};
  program.inside = {1, 1};
  program.clock_ns = {0, 0};
  program.steps = 6;
  program.has_steps = true;
  program.has_hidden_sync = false;
  program.calls_in_work = 100'000;
  const MemorySource run = program.run();
  const answer::Answer answer(run, time_of(run, true), {});
  const detect::Detection& found = answer.view().detection;
  EXPECT_EQ(found.step_count, 6);
  ASSERT_EQ(found.root_causes.size(), 1U);
  EXPECT_THAT(found.root_causes[0].ranks, ElementsAre(1));
}

TEST(JobsInWhichEverythingIsSlow, AccuseNone) {
  SpinningProgram program;
  program.common_factor_from_half = 2.0;
  program.steps = 40;
  for (const bool has_sync : {false, true}) {
    program.has_hidden_sync = has_sync;
    const Judged found = judged(program.run());
    EXPECT_THAT(found.ranks, IsEmpty()) << found.verdict;
  }
}

TEST(FaultsOnTwoRanksOfOneGroup, NameBoth) {
  RunSpec spec = grid({{.kind = FaultKind::kSlowCompute, .where = 4, .onset = 5, .severity = 0.2},
                       {.kind = FaultKind::kSlowCompute, .where = 5, .onset = 9, .severity = 0.3}});
  spec.dp = 4;
  const Judged found = judged(synth::SynthRun(spec));
  EXPECT_THAT(found.ranks, ElementsAre(4, 5)) << found.verdict;
}

}  // namespace
}  // namespace megascope
