// What is said of a run at its end, and shown in timelines.
#include "plugin/answer/answer.h"

#include "analysis/synth/synth.h"
#include "core/trace/run_files.h"
#include "core/trace/trace_writer.h"
#include "plugin/answer/annotate.h"
#include "plugin/answer/verdict.h"
#include "tests/support/temporary_directory.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace megascope::answer {
namespace {

namespace fs = std::filesystem;
using synth::FaultKind;
using synth::RunSpec;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t kLongNs = 60'000'000'000;

RunSpec slow_rank_five() {
  RunSpec spec;
  spec.layers = 2;
  spec.ranks_per_host = 4;
  spec.faults = {{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.3}};
  return spec;
}

/// A run directory with the traces of a synthetic run.
class RunDirectory : public ::testing::Test {
 protected:
  void write(const RunSpec& spec) const {
    const Status status = trace::write_run(synth::SynthRun(spec), directory_.path());
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
  Status verdict(std::string& text, std::uint64_t max_ns = kLongNs) const {
    return make_verdict({.directory = directory_.path(), .max_ns = max_ns}, text);
  }

  const test::TemporaryDirectory directory_;
};

TEST_F(RunDirectory, OfASlowRankTheVerdictBeginsWithIt) {
  write(slow_rank_five());
  std::string text;
  const Status status = verdict(text);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_THAT(text, StartsWith("Rank 5 (n1) computes 1.3"));
  EXPECT_THAT(text, HasSubstr("since step 6; it costs "));
}

TEST_F(RunDirectory, OfAHealthyRunTheVerdictNamesNone) {
  RunSpec spec = slow_rank_five();
  spec.faults.clear();
  write(spec);
  std::string text;
  ASSERT_TRUE(verdict(text).is_ok());
  EXPECT_THAT(text, StartsWith("Ranks "));
}

TEST_F(RunDirectory, NoTimeNoVerdict) {
  write(slow_rank_five());
  std::string text = "before";
  EXPECT_TRUE(verdict(text, 0).is_ok());
  EXPECT_EQ(text, "");
}

TEST_F(RunDirectory, ATraceThatIsMissingOrDamagedIsReported) {
  write(slow_rank_five());
  fs::remove(directory_ / "rank-3.mgt");
  std::string text;
  EXPECT_EQ(verdict(text).message(), "the traces of 7 of 8 ranks are in the run directory");
  fs::resize_file(directory_ / "rank-2.mgt", 100);
  EXPECT_EQ(verdict(text).message(), "the traces of 6 of 8 ranks are in the run directory");
  EXPECT_EQ(text, "");
}

TEST_F(RunDirectory, NothingThereIsAnError) {
  std::string text;
  EXPECT_FALSE(verdict(text).is_ok());
}

TEST_F(RunDirectory, ARootCauseIsShownFromItsFirstToItsLastStep) {
  write(slow_rank_five());
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  ASSERT_TRUE(trace::RunSource::open(directory_.path(), {}, run, problems).is_ok());
  const Answer answer(*run, run->time(), {.jobs = 2});
  const Annotations shown = annotations_of(answer);
  ASSERT_EQ(shown.findings.size(), 2U);  // and its best step
  const Annotation& root_cause = shown.findings[0];
  const Annotation& step = shown.findings[1];
  EXPECT_THAT(root_cause.name, StartsWith("Rank 5 (n1) computes 1.3"));
  EXPECT_THAT(root_cause.world_ranks, ElementsAre(5));
  EXPECT_THAT(root_cause.arguments, Contains(Annotation::Argument{"onset_step", {}, 6}));
  EXPECT_THAT(root_cause.arguments, Contains(Annotation::Argument{"kind", "slow_compute", 0}));
  EXPECT_LE(root_cause.begin_ns, step.begin_ns);
  EXPECT_GE(root_cause.end_ns, step.end_ns);
  const double step_ns = static_cast<double>(step.end_ns - step.begin_ns);
  EXPECT_NEAR(static_cast<double>(root_cause.end_ns - root_cause.begin_ns), 14 * step_ns,
              2 * step_ns);  // steps 6 to 19
}

TEST_F(RunDirectory, OfASlowStageThatTheProgramAnnotatedNoneIsAdvisedToDivideTheDataOtherwise) {
  RunSpec spec;
  spec.tp = 1;
  spec.pp = 2;
  spec.dp = 4;
  spec.steps = 10;
  spec.faults = {
      {.kind = FaultKind::kStageImbalance, .where = 0, .onset = 2, .last = 5, .severity = 1}};
  write(spec);
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  ASSERT_TRUE(trace::RunSource::open(directory_.path(), {}, run, problems).is_ok());
  const auto is_advised = [&run] {
    const Answer answer(*run, run->time(), {.has_advice = true});
    EXPECT_EQ(answer.view().detection.root_causes.size(), 1U);
    EXPECT_EQ(answer.view().detection.root_causes.at(0).cause, detect::Cause::kStageImbalance);
    return std::ranges::any_of(answer.view().advice.findings, [](const advice::Finding& finding) {
      return finding.rule == "rank_imbalance";
    });
  };
  EXPECT_TRUE(is_advised()) << "ranks of some program";
  for (const std::int32_t rank : run->world_ranks())
    run->parallel(rank) = {{"pp", rank / spec.dp, spec.pp}, {"dp", rank % spec.dp, spec.dp}};
  EXPECT_FALSE(is_advised());
}

TEST_F(RunDirectory, NothingDependsOnTheNumberOfThreads) {
  write(slow_rank_five());
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  ASSERT_TRUE(trace::RunSource::open(directory_.path(), {}, run, problems).is_ok());
  Answer one(*run, run->time(), {.jobs = 1, .has_replay = true});
  const whatif::WhatIf replayed = one.replay();
  for (const unsigned jobs : {2U, 5U}) {
    Answer other(*run, run->time(), {.jobs = jobs, .has_replay = true});
    EXPECT_EQ(verdict_text(other.view()), verdict_text(one.view())) << jobs;
    EXPECT_EQ(other.view().waits.suffered_ns, one.view().waits.suffered_ns) << jobs;
    const whatif::WhatIf again = other.replay();
    EXPECT_EQ(again.step_slowdowns, replayed.step_slowdowns) << jobs;
    ASSERT_EQ(again.scenarios.size(), replayed.scenarios.size()) << jobs;
    for (std::size_t i = 0; i < again.scenarios.size(); ++i)
      EXPECT_EQ(again.scenarios[i].gain, replayed.scenarios[i].gain) << jobs;
  }
}

TEST_F(RunDirectory, WaitsAreThoseOfTheAnalysisAndLieInCalls) {
  write(slow_rank_five());
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  ASSERT_TRUE(trace::RunSource::open(directory_.path(), {}, run, problems).is_ok());
  const Answer answer(*run, run->time(), {});
  const Annotations shown = annotations_of(answer);
  std::uint64_t shown_ns = 0;
  for (const std::int32_t rank : run->world_ranks()) {
    const std::unique_ptr<CallStream> calls = answer.in_order().calls(rank, 0);
    Call call;
    ASSERT_TRUE(calls->next(call));
    for (const WaitAnnotation& wait : shown.waits_of(rank)) {
      while (call.enter_ns < wait.begin_ns) ASSERT_TRUE(calls->next(call));
      ASSERT_EQ(call.enter_ns, wait.begin_ns);
      EXPECT_LE(wait.end_ns, call.leave_ns);
      EXPECT_LT(wait.kind, shown.wait_kinds.size());
      EXPECT_NE(wait.waits_for, rank);
      shown_ns += wait.end_ns - wait.begin_ns;
    }
  }
  EXPECT_GT(shown_ns, 0.99 * static_cast<double>(answer.view().waits.suffered_ns));
  EXPECT_LE(shown_ns, answer.view().waits.suffered_ns);
}

}  // namespace
}  // namespace megascope::answer
