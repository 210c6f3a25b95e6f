#include "analysis/detect/detect.h"

#include "analysis/detect/evidence.h"
#include "analysis/detect/statistics.h"
#include "analysis/synth/synth.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

#include <cmath>

/// What the detection says of runs whose fault is known, and of runs that it cannot judge. How
/// often it is right is bench/detection's question.
namespace megascope::detect {
namespace {

using synth::Fault;
using synth::FaultKind;
using synth::Pattern;
using synth::RunSpec;
using testing::ElementsAre;
using testing::IsEmpty;

RunSpec grid(std::int32_t tp, std::int32_t pp, std::int32_t dp, std::vector<Fault> faults = {}) {
  RunSpec spec;
  spec.tp = tp;
  spec.pp = pp;
  spec.dp = dp;
  spec.layers = 2;
  spec.ranks_per_host = 4;
  spec.faults = std::move(faults);
  return spec;
}

Detection judge(const RunSpec& spec) { return detect(synth::SynthRun(spec)); }

TEST(Detect, FindsNothingInHealthyRuns) {
  for (const RunSpec& spec :
       {grid(2, 2, 2), grid(1, 4, 1), grid(4, 1, 2), grid(1, 1, 2), grid(1, 2, 1)}) {
    const Detection detection = judge(spec);
    EXPECT_THAT(detection.root_causes, IsEmpty());
    EXPECT_THAT(detection.limitations, IsEmpty());
    EXPECT_EQ(detection.step_count, 20);
  }
}

TEST(Detect, NamesASlowRankWithOnsetFactorAndCost) {
  const Detection detection = judge(
      grid(2, 2, 2, {{.kind = FaultKind::kSlowCompute, .where = 5, .onset = 6, .severity = 0.2}}));
  ASSERT_EQ(detection.root_causes.size(), 1u);
  const RootCause& root_cause = detection.root_causes[0];
  EXPECT_EQ(root_cause.cause, Cause::kSlowCompute);
  EXPECT_THAT(root_cause.ranks, ElementsAre(5));
  EXPECT_THAT(root_cause.hosts, ElementsAre("n1"));
  EXPECT_EQ(root_cause.onset_step, 6);
  EXPECT_EQ(root_cause.last_step, 19);
  EXPECT_EQ(root_cause.active_steps, 14);
  EXPECT_NEAR(root_cause.factor, 1.2, 0.02);
  EXPECT_GT(root_cause.cost_fraction, 0.03);
  EXPECT_LT(root_cause.cost_fraction, 0.2);
  EXPECT_GT(root_cause.confidence, 0.999);
  EXPECT_EQ(root_cause.evidence.world_rank, 5);
  EXPECT_EQ(root_cause.evidence.peer_count, 3);
  EXPECT_NEAR(root_cause.evidence.observed_ns / root_cause.evidence.expected_ns, 1.2, 0.02);
}

TEST(Detect, AnnotatesWhatTheReferenceCannot) {
  // A whole stage, one replica, no tensor group, two ranks, every third step, a link ten times
  // slower.
  struct Expected {
    RunSpec spec;
    Cause cause;
    std::vector<std::int32_t> ranks;
    double factor;
  };
  const Expected all[] = {
      {grid(2, 2, 2, {{.kind = FaultKind::kStageImbalance, .where = 1, .severity = 0.3}}),
       Cause::kStageImbalance,
       {4, 5, 6, 7},
       1.3},
      {grid(2, 4, 1, {{.kind = FaultKind::kSlowCompute, .where = 3, .onset = 5, .severity = 0.3}}),
       Cause::kSlowCompute,
       {3},
       1.3},
      {grid(1, 4, 2, {{.kind = FaultKind::kSlowCompute, .where = 2, .severity = 0.3}}),
       Cause::kSlowCompute,
       {2},
       1.3},
      {grid(1, 1, 2, {{.kind = FaultKind::kSlowCompute, .where = 1, .onset = 4, .severity = 0.3}}),
       Cause::kSlowCompute,
       {1},
       1.3},
      {grid(2, 2, 2,
            {{.kind = FaultKind::kSlowCompute,
              .where = 0,
              .onset = 2,
              .period = 3,
              .severity = 0.3}}),
       Cause::kSlowCompute,
       {0},
       1.3},
      {grid(2, 2, 2, {{.kind = FaultKind::kSlowLink, .where = 1, .to = 5, .severity = 9.0}}),
       Cause::kSlowLink,
       {1, 5},
       10.0},
      {grid(2, 2, 2, {{.kind = FaultKind::kHostStall, .where = 6, .severity = 0.3}}),
       Cause::kHostStall,
       {6},
       1.3},
      {grid(4, 2, 2, {{.kind = FaultKind::kSlowHost, .where = 2, .onset = 6, .severity = 0.3}}),
       Cause::kSlowHost,
       {8, 9, 10, 11},
       1.3},
  };
  for (const Expected& expected : all) {
    const Detection detection = judge(expected.spec);
    ASSERT_EQ(detection.root_causes.size(), 1u) << name_of(expected.cause);
    const RootCause& root_cause = detection.root_causes[0];
    EXPECT_EQ(root_cause.cause, expected.cause) << name_of(root_cause.cause);
    EXPECT_EQ(root_cause.ranks, expected.ranks);
    EXPECT_NEAR(root_cause.factor - 1.0, expected.factor - 1.0, 0.2 * (expected.factor - 1.0));
    EXPECT_NEAR(root_cause.onset_step, expected.spec.faults[0].onset, 1);
  }
}

TEST(Detect, NamesSeveralRootCauses) {
  RunSpec spec = grid(2, 2, 4,
                      {{.kind = FaultKind::kSlowCompute, .where = 1, .severity = 0.2},
                       {.kind = FaultKind::kSlowCompute, .where = 3, .onset = 8, .severity = 0.1},
                       {.kind = FaultKind::kHostStall, .where = 12, .severity = 0.1}});
  const Detection detection = judge(spec);
  std::vector<std::int32_t> ranks;
  for (const RootCause& root_cause : detection.root_causes) ranks.push_back(root_cause.ranks[0]);
  EXPECT_THAT(ranks, testing::UnorderedElementsAre(1, 3, 12));
}

/// On a machine where equal work takes unequal time.
TEST(Detect, NoiseOfASlowRankIsNoInputImbalance) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    for (const FaultKind kind : {FaultKind::kSlowCompute, FaultKind::kInputImbalance}) {
      RunSpec spec = grid(1, 1, 4, {{.kind = kind, .where = 1, .severity = 0.3}});
      spec.steps = 60;
      spec.seed = seed;
      spec.noise.sigma = kind == FaultKind::kSlowCompute ? 0.5 : 0.05;
      const Detection detection = judge(spec);
      ASSERT_EQ(detection.root_causes.size(), 1u) << seed;
      EXPECT_EQ(detection.root_causes[0].cause,
                kind == FaultKind::kSlowCompute ? Cause::kSlowCompute : Cause::kInputImbalance)
          << seed << " " << detection.root_causes[0].factor;
      EXPECT_THAT(detection.root_causes[0].ranks, ElementsAre(1)) << seed;
    }
  }
}

TEST(Detect, PausesOfARankAreOneRootCause) {
  RunSpec spec;
  spec.pattern = Pattern::kHalo;
  spec.grid_x = 2;
  spec.grid_y = 4;
  spec.seed = 422;
  spec.noise = {.sigma = 0.05, .link_sigma = 0.05, .pareto_share = 0.01};
  spec.faults = {{.kind = FaultKind::kHostStall, .where = 6, .severity = 0.5}};
  const Detection detection = judge(spec);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kHostStall);
  EXPECT_THAT(detection.root_causes[0].ranks, ElementsAre(6));
  EXPECT_NEAR(detection.root_causes[0].factor, 1.5, 0.05)
      << "the whole pause, not what it leaves in the middle parts";
}

TEST(Detect, WorksWithAThousandRanks) {
  RunSpec spec = grid(8, 4, 32, {{.kind = FaultKind::kSlowCompute, .where = 700, .severity = 0.1}});
  spec.micro_batches = 4;
  spec.layers = 1;
  spec.steps = 12;
  const Detection detection = judge(spec);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_THAT(detection.root_causes[0].ranks, ElementsAre(700));
}

TEST(Detect, UsesStepsAndGroupsThatAreKnown) {
  const RunSpec spec = grid(2, 2, 2,
                            {{.kind = FaultKind::kStageImbalance, .where = 1, .severity = 0.2}});
  const synth::SynthRun run(spec);
  StepMarks marks;
  for (const std::int32_t rank : run.world_ranks()) {
    std::vector<std::uint64_t>& ends = marks.end_ns.emplace_back();
    const auto calls = run.calls(rank, 0);
    for (Call call; calls->next(call);) {
      const bool is_norm = !call.facts.empty() && call.facts[0].kind == FactKind::kCollective &&
                           run.process(rank).comm(call.comm)->name == "model";
      if (is_norm) ends.push_back(call.leave_ns);
    }
  }
  const GroupIndices groups{{"pp", {0, 0, 0, 0, 1, 1, 1, 1}}, {"dp", {0, 0, 1, 1, 0, 0, 1, 1}}};
  Options options;
  options.steps = &marks;
  options.groups = &groups;
  const Detection detection = detect(run, options);
  EXPECT_EQ(detection.step_count, 20);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].groups.at("pp"), 1);
}

TEST(Detect, SaysWhatItCannotJudge) {
  EXPECT_THAT(judge(grid(1, 1, 1)).limitations, testing::Not(IsEmpty()));
  RunSpec brief = grid(2, 2, 2);
  brief.steps = 3;
  const Detection detection = judge(brief);
  EXPECT_THAT(detection.root_causes, IsEmpty());
  ASSERT_FALSE(detection.limitations.empty());
  EXPECT_THAT(detection.limitations[0], testing::HasSubstr("too few"));
  MemorySource nothing(4);
  EXPECT_EQ(detect(nothing).step_count, 0);
}

TEST(Detect, SaysThatOtherThreadsAreNotJudged) {
  test::SampleRun run(2, /*thread_count=*/2);
  run.spent(1, "MPI_Recv", 0, 10, {}, 1);
  const Detection detection = detect(*run.source());
  ASSERT_FALSE(detection.limitations.empty());
  EXPECT_EQ(detection.limitations.back(),
            "only the main threads are judged: others make calls too on ranks 1");
}

/// 24 steps around 0 with a deviation of 1 %, by a fixed pattern.
Strand quiet() {
  constexpr double kPattern[] = {0.4, -1.2, 0.9, 0.1, -0.6, 1.3, -0.2, -0.9};
  Strand strand{{}, std::vector<double>(24, 0.01), 0.01, 0.01, 0.0};
  for (std::size_t step = 0; step < 24; ++step) strand.values.push_back(0.01 * kPattern[step % 8]);
  return strand;
}
constexpr double kSure = 15.0;

TEST(Evidence, FindsAStretchAndWhatComesEveryThirdStep) {
  const Unit unit{{0}, {1.0}, 0.0, false};
  EXPECT_LT(scan({quiet()}, {unit}, 0.012)[0].score, 5.0);
  Strand stretch = quiet();
  for (std::size_t step = 10; step < 18; ++step) stretch.values[step] += 0.08;
  const Scan one = scan({stretch}, {unit}, 0.012)[0];
  EXPECT_GT(one.score, kSure);
  EXPECT_EQ(one.first, 10u);
  EXPECT_EQ(one.last, 17u);
  EXPECT_NEAR(one.height, 0.08, 0.02);
  Strand third = quiet();
  for (std::size_t step = 4; step < 24; step += 3) third.values[step] += 0.08;
  const Scan two = scan({third}, {unit}, 0.012)[0];
  EXPECT_GT(two.score, kSure);
  EXPECT_EQ(two.first, 4u);
  EXPECT_EQ(two.period, 3u);
  const std::vector<bool> is_active = active_steps({third}, unit, two);
  for (std::size_t step = 0; step < 24; ++step)
    EXPECT_EQ(is_active[step], step >= 4 && step % 3 == 1) << step;
}

TEST(Evidence, FindsALargeExcessOfQuietSeriesOfAnyLength) {
  for (const double noise : {0.0005, 0.002, 0.02}) {
    for (const std::size_t steps : {127UL, 128UL, 500UL}) {
      const Strand strand{std::vector<double>(steps, std::log(1.3)),
                          std::vector<double>(steps, noise)};
      const Scan found = scan({strand}, {{{0}, {1.0}, 0.0, false}}, std::log(1.012))[0];
      EXPECT_GT(found.score, 100.0) << noise << ", " << steps << " steps";
    }
  }
}

TEST(Evidence, ThreeStepsFarOffProveNothing) {
  Strand strand = quiet();
  for (const std::size_t step : {3U, 11U, 20U}) strand.values[step] += 2.0;
  EXPECT_LT(scan({strand}, {{{0}, {1.0}, 0.0, false}}, 0.012)[0].score, kSure);
}

TEST(Evidence, WhatIsSlowTogetherIsSurerAndOnlyIfAllAre) {
  Strand slow = quiet();
  for (std::size_t step = 6; step < 24; ++step) slow.values[step] += 0.015;
  const Unit first{{0}, {1.0}, 0.0, false};
  const Unit both{{0, 1}, {1.0, 1.0}, 0.0, false};
  const std::vector<Scan> alike = scan({slow, slow}, {first, both}, 0.012);
  EXPECT_GT(alike[1].score, alike[0].score + 5.0);
  const std::vector<Scan> apart = scan({slow, quiet()}, {first, both}, 0.012);
  EXPECT_LT(apart[1].score, apart[0].score);
}

TEST(Evidence, FindsTheLevelOfASeriesThatIsMostlySlow) {
  Strand slow = quiet();
  for (std::size_t step = 6; step < 24; ++step) slow.values[step] += 3.0 + 0.1;
  for (std::size_t step = 0; step < 6; ++step) slow.values[step] += 3.0;
  const Strand strand = strand_of_change(slow.values, slow.noise, 0.01, 0.012);
  EXPECT_NEAR(strand.values[20], 0.1, 0.03);
  EXPECT_LE(strand.base, 0.0);
  EXPECT_EQ(scan({strand}, {{{0}, {1.0}, 0.0, false}}, 0.012)[0].first, 6u);
}

TEST(Statistics, QuantilesAndSpread) {
  std::vector<double> values{5.0, 1.0, 4.0, 2.0, 3.0};
  EXPECT_DOUBLE_EQ(median(values), 3.0);
  EXPECT_DOUBLE_EQ(quantile(values, 0.25), 2.0);
  EXPECT_NEAR(spread({1.0, 2.0, 3.0, 4.0, 500.0}), 1.4826, 1e-9);
  EXPECT_DOUBLE_EQ(noise_of_differences({1.0, 1.0, 1.0, 9.0, 9.0, 9.0}), 0.0);
}

}  // namespace
}  // namespace megascope::detect
