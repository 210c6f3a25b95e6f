// Ranks of MPI programs that wait for each other between MPI calls.
#include "analysis/segments/hidden_waits.h"

#include "analysis/synth/synth.h"
#include "plugin/answer/answer.h"
#include "spinning_program.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace megascope {
namespace {

using detect::RootCause;
using segments::GapSteps;
using segments::HiddenWaits;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

HiddenWaits waits_of(const RecordSource& run, const segments::Coordinates& specified = {}) {
  GapSteps steps;
  steps.markers = detect::find_step_markers(run, 1);
  return segments::find_hidden_waits(run, steps, specified);
}

RunTime one_clock() {
  RunTime time;
  time.domains[clock_domain_id("n1")].is_measured = true;
  return time;
}

struct Judged {
  std::vector<std::vector<std::int32_t>> ranks;  ///< of each root cause
  std::vector<RootCause> root_causes;
  std::vector<std::string> limitations;
  std::string verdict;
};
Judged judged(const SpinningProgram& program) {
  const MemorySource run = program.run();
  const RunTime time = one_clock();
  const answer::Answer answer(run, time, {});
  Judged result;
  result.root_causes = answer.view().detection.root_causes;
  for (const RootCause& root_cause : result.root_causes) result.ranks.push_back(root_cause.ranks);
  result.limitations = answer.view().detection.limitations;
  result.verdict = answer::verdict_text(answer.view());
  return result;
}

TEST(HiddenWaits, AreWhereAGapBeginsApartAndEndsTogether) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  const HiddenWaits waits = waits_of(program.run());
  ASSERT_THAT(waits.groups, ElementsAre(ElementsAre(0U, 1U, 2U, 3U)));
  ASSERT_EQ(waits.operations.size(), 1U);
  EXPECT_EQ(waits.operations[0].name, "");
  for (const std::vector<HiddenWaits::Wait>& process : waits.processes)
    EXPECT_EQ(process.size(), 29U);  // all steps but the first
  for (std::size_t i = 0; i < 29; ++i) {
    // 0.3 × 2 ms, but for noise; the last to arrive waits for no rank.
    EXPECT_NEAR(static_cast<double>(waits.processes[0][i].end_ns - waits.processes[0][i].begin_ns),
                0.6e6, 0.2e6);
    EXPECT_LT(waits.processes[2][i].end_ns - waits.processes[2][i].begin_ns, 100'000U);
    EXPECT_EQ(waits.processes[1][i].sequence, i);
  }
}

TEST(HiddenWaits, AreNoneWhereRanksWorkByThemselves) {
  for (const double factor : {1.0, 1.3}) {
    SpinningProgram program;
    program.has_hidden_sync = false;
    program.before = {1, 1, factor, 1};
    EXPECT_FALSE(waits_of(program.run()).is_there()) << factor;
    program.has_regions = true;
    EXPECT_FALSE(waits_of(program.run()).is_there()) << factor;
  }
}

TEST(HiddenWaits, AreNoneInProgramsThatSynchroniseByMpiOnly) {
  for (const synth::Pattern pattern :
       {synth::Pattern::k1F1B, synth::Pattern::kInterleaved, synth::Pattern::kHalo}) {
    for (const std::int32_t slow : {-1, 3}) {
      synth::RunSpec spec;
      spec.pattern = pattern;
      spec.layers = 2;
      spec.steps = 30;
      if (slow >= 0)
        spec.faults = {{.kind = synth::FaultKind::kSlowCompute, .where = slow, .severity = 0.3}};
      EXPECT_FALSE(waits_of(synth::SynthRun(spec)).is_there())
          << static_cast<int>(pattern) << ", slow: " << slow;
    }
  }
}

TEST(HiddenWaits, AreNoneWhereDifferentWorkEndsTogetherByCoincidence) {
  for (const double noise : {0.002, 0.01, 0.02}) {
    SpinningProgram program;
    program.has_hidden_sync = false;
    program.noise = noise;
    program.before = {1, 2, 1, 2};  // as neighbouring stages of a pipeline: the one begins later
    program.inside = {2, 1, 2, 1};  // by what the other works longer
    EXPECT_FALSE(waits_of(program.run()).is_there()) << noise;
  }
}

TEST(HiddenWaits, OfAnAnnotatedRegionHaveItsName) {
  SpinningProgram program;
  program.before = {1, 1.3, 1, 1};
  program.has_regions = true;
  const HiddenWaits waits = waits_of(program.run());
  ASSERT_EQ(waits.operations.size(), 1U);
  EXPECT_EQ(waits.operations[0].name, "backward");
}

TEST(HiddenWaits, AreFoundInTheGroupsOfCommunicatorsOrInThoseThatWereSpecified) {
  SpinningProgram program;
  program.group_size = 2;
  program.before = {1, 1.3, 1, 1};
  const auto pairs = ElementsAre(ElementsAre(0U, 1U), ElementsAre(2U, 3U));
  EXPECT_THAT(waits_of(program.run()).groups, pairs);
  program.has_communicators = false;
  EXPECT_THAT(waits_of(program.run(), {{"tp", {0, 1, 0, 1}}, {"dp", {0, 0, 1, 1}}}).groups, pairs);
}

TEST(HiddenWaits, ThatAreOnlyInSomeStepsAreInTheseOnly) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  program.steps = 60;
  program.sync_every = 3;
  const HiddenWaits waits = waits_of(program.run());
  ASSERT_THAT(waits.groups, ElementsAre(ElementsAre(0U, 1U, 2U, 3U)));
  for (const std::vector<HiddenWaits::Wait>& process : waits.processes)
    EXPECT_EQ(process.size(), 19U);  // steps 3, 6 … 57: the first step is not looked at
}

TEST(HiddenWaits, ThatAreInFewStepsAreNotConcluded) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  program.steps = 60;
  program.sync_every = 8;
  EXPECT_FALSE(waits_of(program.run()).is_there());
}

TEST(HiddenWaits, AreCallsThatCountAsNone) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  const MemorySource run = program.run();
  const segments::WaitsSource source(run, waits_of(run));
  EXPECT_EQ(source.instance_count(), 29U);
  const auto calls = source.calls(0, 0);
  std::uint64_t last_ns = 0;
  std::size_t inserted = 0;
  std::size_t counted = 0;
  for (Call call; calls->next(call);) {
    EXPECT_GE(call.enter_ns, last_ns);
    last_ns = call.enter_ns;
    counted += call.count;
    inserted += source.process(0).region(call.region)->name == segments::kHiddenWaitName ? 1 : 0;
  }
  EXPECT_EQ(inserted, 29U);
  EXPECT_EQ(counted, 2U * 30U + 2U);
}

TEST(HiddenSyncOfPrograms, TheLateRankIsNamedAndNotThoseThatWaitForIt) {
  SpinningProgram program;
  program.before = {1, 1, 1.3, 1};
  for (const bool has_regions : {false, true}) {
    program.has_regions = program.has_steps = has_regions;
    const Judged found = judged(program);
    EXPECT_THAT(found.ranks, ElementsAre(ElementsAre(2))) << found.verdict;
    EXPECT_THAT(found.limitations,
                Contains(HasSubstr(has_regions ? "Ranks 0-3 synchronise in `backward`"
                                               : "Ranks 0-3 synchronise in work between MPI")));
  }
}

TEST(HiddenSyncOfPrograms, OfAGroupOnlyTheLateRankIsNamed) {
  SpinningProgram program;
  program.group_size = 2;
  program.before = {1, 1.3, 1, 1};
  std::vector<std::vector<std::int32_t>> by_gaps_alone;
  for (const RootCause& root_cause : detect::detect(program.run()).root_causes)
    by_gaps_alone.push_back(root_cause.ranks);
  EXPECT_THAT(by_gaps_alone, Contains(ElementsAre(0))) << "rank 0 waits for rank 1";
  for (const bool has_regions : {false, true}) {
    program.has_regions = has_regions;
    const Judged found = judged(program);
    EXPECT_THAT(found.ranks, ElementsAre(ElementsAre(1))) << found.verdict;
  }
}

TEST(HiddenSyncOfPrograms, WhatIsSlowInsideIsTheGroupAndTheSentenceSaysSo) {
  SpinningProgram program;
  program.group_size = 2;
  program.inside = {1, 1.3, 1, 1};
  program.has_regions = true;
  const Judged found = judged(program);
  ASSERT_THAT(found.ranks, ElementsAre(ElementsAre(0, 1))) << found.verdict;
  EXPECT_THAT(found.verdict, HasSubstr("they synchronise in `backward`, which hides which of them "
                                       "is slow"));
}

TEST(HiddenSyncOfPrograms, HealthyRanksAreNotAccused) {
  SpinningProgram program;
  for (const std::int32_t group_size : {2, 4}) {
    program.group_size = group_size;
    const Judged found = judged(program);
    EXPECT_THAT(found.ranks, IsEmpty()) << found.verdict;
  }
}

TEST(HiddenSyncOfPrograms, TwoLateRanksOfOneGroupAreBothNamed) {
  SpinningProgram program;
  program.ranks = 8;
  program.group_size = 4;
  program.before = {1, 1.3, 1.3, 1, 1, 1, 1, 1};
  program.inside.assign(8, 1.0);
  program.clock_ns.assign(8, 0);
  std::vector<std::int32_t> named;
  const Judged found = judged(program);
  for (const auto& ranks : found.ranks) named.insert(named.end(), ranks.begin(), ranks.end());
  std::ranges::sort(named);
  EXPECT_THAT(named, ElementsAre(1, 2)) << found.verdict;
}

}  // namespace
}  // namespace megascope
