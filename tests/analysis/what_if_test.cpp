#include "analysis/whatif/what_if.h"

#include "analysis/synth/synth.h"
#include "analysis/whatif/program_graph.h"
#include "analysis/whatif/replay.h"
#include "core/record/value_fact.h"
#include "tests/support/sample_run.h"

#include <gmock/gmock.h>

#include <cmath>

/// Replays with usual durations: hand-made graphs, runs whose answer can be computed, and runs with
/// a known fault.
namespace megascope::whatif {
namespace {

using test::SampleRun;
using test::with_request;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::Pointwise;

/// A graph of ranks that work and then synchronise in a collective, step after step.
class SyncGraph {
 public:
  explicit SyncGraph(std::int32_t ranks) {
    for (std::int32_t rank = 0; rank < ranks; ++rank) graph.world_ranks.push_back(rank);
    last_.assign(static_cast<std::size_t>(ranks), kNone);
    graph.names = {"work", "allreduce"};
    graph.types = {{0, true}, {1, false}};
    graph.group_begin = {0};
  }
  void step(const std::vector<float>& work_ns, float transfer_ns) {
    const auto step = static_cast<std::uint32_t>(graph.step_numbers.size());
    graph.step_numbers.push_back(step);
    const auto group = static_cast<std::uint32_t>(graph.group_count());
    for (std::uint32_t rank = 0; rank < work_ns.size(); ++rank) {
      const OperationIndex work = add(
          {.before = last_[rank], .type = 0, .group = kNone, .duration_ns = work_ns[rank]}, step,
          rank);
      last_[rank] = add({.before = work, .type = 1, .group = group, .duration_ns = transfer_ns},
                        step, rank);
      graph.starters.push_back(last_[rank]);
    }
    graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size()));
  }

  OperationGraph graph;

 private:
  OperationIndex add(const Operation& operation, std::uint32_t step, std::uint32_t rank) {
    graph.operations.push_back(operation);
    graph.step_of.push_back(step);
    graph.rank_of.push_back(rank);
    return static_cast<OperationIndex>(graph.operations.size() - 1);
  }
  std::vector<OperationIndex> last_;
};

std::vector<float> durations_of(const OperationGraph& graph) {
  std::vector<float> all;
  for (const Operation& operation : graph.operations) all.push_back(operation.duration_ns);
  return all;
}

/// Times of the steps with these durations, in every lane the same.
std::vector<double> step_times(Replay& replay, const std::vector<float>& durations_ns) {
  std::vector<double> times;
  const auto steps = replay.step_times_ns(
      [&durations_ns](OperationIndex operation, Replay::Lanes& lanes) {
        lanes.fill(static_cast<double>(durations_ns[operation]));
      });
  for (const Replay::Lanes& step : steps) {
    times.push_back(step.front());
    for (const double time : step) EXPECT_EQ(time, step.front());
  }
  return times;
}

const Scenario& scenario(const WhatIf& result, const std::string& name) {
  for (const Scenario& one : result.scenarios) {
    if (one.name == name) return one;
  }
  static const Scenario kNothing;
  ADD_FAILURE() << "no scenario " << name;
  return kNothing;
}

TEST(Replay, EndsAnInstanceWhenTheLastHasCome) {
  SyncGraph made(2);
  made.step({100, 300}, 10);
  made.step({400, 100}, 20);
  Replay replay(made.graph);
  EXPECT_THAT(step_times(replay, durations_of(made.graph)), ElementsAre(310.0, 420.0));
  EXPECT_EQ(replay.cut_count(), 0u);
}

TEST(Replay, LetsNoneLeaveBeforeItsOwnTime) {
  // Rank 0 starts a receive, works 500 ns and then only finishes it in 5 ns; rank 1 sent after 100
  // ns, and the transfer took 50 ns.
  OperationGraph graph;
  graph.world_ranks = {0, 1};
  graph.step_numbers = {0};
  graph.names = {"post", "work", "finish", "send"};
  graph.types = {{0, true}, {1, true}, {2, false}, {3, true}, {1, true}};
  graph.operations = {{kNone, 0, kNone, 2},
                      {0, 1, kNone, 500},
                      {1, 2, 0, 50, 5},
                      {kNone, 4, kNone, 100},
                      {3, 3, kNone, 1}};
  graph.step_of = {0, 0, 0, 0, 0};
  graph.rank_of = {0, 0, 0, 1, 1};
  graph.group_begin = {0, 2};
  graph.starters = {0, 4};
  Replay replay(graph);
  EXPECT_THAT(step_times(replay, {2, 500, 50, 100, 1}), ElementsAre(507.0));
  EXPECT_THAT(step_times(replay, {2, 20, 50, 100, 1}), ElementsAre(150.0))
      << "then it waits for the message";
}

TEST(Replay, CutsWaitsThatGoRoundInACycle) {
  // Each of two operations waits for the one behind the other.
  OperationGraph graph;
  graph.world_ranks = {0, 1};
  graph.step_numbers = {0};
  graph.names = {"wait", "start"};
  graph.types = {{0, false}, {1, true}};
  graph.operations = {{kNone, 0, 0, 10}, {0, 1, kNone, 5}, {kNone, 0, 1, 10}, {2, 1, kNone, 5}};
  graph.step_of = {0, 0, 0, 0};
  graph.rank_of = {0, 0, 1, 1};
  graph.group_begin = {0, 1, 2};
  graph.starters = {3, 1};
  Replay replay(graph);
  EXPECT_EQ(replay.cut_count(), 1u);
  EXPECT_THAT(step_times(replay, {10, 5, 10, 5}), ElementsAre(25.0));
}

TEST(WhatIf, ComputesTheSlowdownOfASyntheticJob) {
  // Four ranks, ten steps of 100 ns; rank 2 takes 200 ns in every one. Usual: (3 · 100 + 200) / 4 =
  // 125. T = 210, ideal 135.
  SyncGraph made(4);
  for (int step = 0; step < 10; ++step) made.step({100, 100, 200, 100}, 10);
  const WhatIf result = what_if(made.graph, {{"dp 0"}, {"dp 0"}, {"dp 1"}, {"dp 1"}});
  EXPECT_NEAR(result.slowdown, 210.0 / 135.0, 1e-6);
  EXPECT_NEAR(result.step_ns, 210.0, 1e-6);
  EXPECT_NEAR(result.ideal_step_ns, 135.0, 1e-6);
  EXPECT_THAT(result.step_slowdowns,
              Pointwise(DoubleNear(1e-6), std::vector<double>(10, 210.0 / 135.0)));
  EXPECT_NEAR(scenario(result, "rank 2").gain, 210.0 / 135.0, 1e-6);
  EXPECT_NEAR(scenario(result, "rank 2").alone, 210.0 / 135.0, 1e-6);
  EXPECT_NEAR(scenario(result, "rank 0").gain, 1.0, 1e-6);
  EXPECT_NEAR(scenario(result, "dp 1").gain, 210.0 / 135.0, 1e-6);
  EXPECT_NEAR(scenario(result, "dp 0").gain, 1.0, 1e-6);
  EXPECT_NEAR(scenario(result, "work").gain, 210.0 / 135.0, 1e-6);
  EXPECT_NEAR(scenario(result, "allreduce").gain, 1.0, 1e-6);
}

TEST(WhatIf, AnnotatesTwoSlowRanksOfWhichOneHidesTheOther) {
  SyncGraph made(10);
  for (int step = 0; step < 5; ++step)
    made.step({200, 150, 100, 100, 100, 100, 100, 100, 100, 100}, 0);
  const WhatIf result = what_if(made.graph, {});
  EXPECT_NEAR(scenario(result, "rank 0").gain, 200.0 / 150.0, 1e-6);
  EXPECT_NEAR(scenario(result, "rank 1").gain, 1.0, 1e-6) << "rank 0 is still slower";
  EXPECT_NEAR(scenario(result, "rank 1").alone, 150.0 / 115.0, 1e-6);
}

TEST(WhatIf, SplitsWhatWasLostOverItsCausesSoThatItAddsUp) {
  SyncGraph made(10);
  for (int step = 0; step < 5; ++step)
    made.step({200, 150, 100, 100, 100, 100, 100, 100, 100, 100}, 0);
  WhatIfOptions options;
  options.asked = {{.ranks = {0}, .links = {}, .factor = 2.0, .steps = made.graph.step_numbers},
                   {.ranks = {1}, .links = {}, .factor = 1.5, .steps = made.graph.step_numbers}};
  const WhatIf result = what_if(made.graph, {}, options);
  ASSERT_EQ(result.asked.size(), 2u);
  EXPECT_NEAR(result.best_step_ns, 100.0, 1e-3) << "as fast as their peers, which the mean is not";
  EXPECT_NEAR(result.loss.total, 0.5, 1e-6);
  EXPECT_NEAR(result.loss.explained, 0.5, 1e-6);
  EXPECT_NEAR(result.asked[0].cost + result.asked[1].cost, result.loss.explained, 1e-9);
  EXPECT_GT(result.asked[1].cost, 0.0) << "rank 0 hides it, but it is slow";
  EXPECT_GT(result.asked[0].cost, result.asked[1].cost);
  for (const Scenario& one : result.scenarios)
    EXPECT_LE(one.gain, 2.0 + 1e-6) << one.name << ": no part gains more than the whole";
}

TEST(WhatIf, TakesTheMedianOfTransfersAndTheMeanOfWork) {
  SyncGraph made(1);
  for (const float transfer : {10.0F, 10.0F, 10.0F, 1000.0F}) made.step({transfer * 2}, transfer);
  EXPECT_THAT(usual_durations_ns(made.graph), ElementsAre(515.0F, 10.0F));
}

/// A run of a device's operations: work, then a reduction of all, in steps with numbers of their
/// own.
std::unique_ptr<MemorySource> annotated_run(
    const std::vector<std::vector<std::uint64_t>>& work_ns) {
  const auto size = static_cast<std::int32_t>(work_ns.size());
  SampleRun run(size);
  for (std::int32_t rank = 0; rank < size; ++rank) {
    const std::vector<std::uint64_t>& of_this_rank = work_ns[static_cast<std::size_t>(rank)];
    for (std::size_t step = 0; step < of_this_rank.size(); ++step) {
      std::uint64_t longest = 0;
      for (const auto& of_rank : work_ns) longest = std::max(longest, of_rank[step]);
      const std::uint64_t begin = 1000 + step * 100'000;
      const std::uint64_t worked = begin + of_this_rank[step];
      const Fact number = value_fact(ValueName::kStep, static_cast<std::int64_t>(10 * step));
      const Fact met = test::collective(static_cast<std::uint32_t>(step), kNoPeer, 0, 0);
      run.spent(rank, "forward", begin, worked, {number});
      run.spent(rank, "reduce", worked, begin + longest + 100, {met, number});
    }
    RegionDefinition& reduce = run.process(rank).definitions().regions[1];
    reduce.role = RegionRole::kCollAllToAll;
    reduce.collective_op = CollectiveOp::kAllreduce;
  }
  return run.source();
}

TEST(WhatIf, ReplaysEachAnnotatedStepByItself) {
  const auto run = annotated_run({{1000, 1000, 1000}, {1000, 3000, 1000}});
  const WhatIf result = what_if(*run, analysis::MatchTables(*run));
  EXPECT_THAT(result.steps, ElementsAre(0, 10, 20));
  // Usual work: 8000 / 6. T: 1100, 3100, 1100.
  const double ideal_ns = 8000.0 / 6 + 100;
  EXPECT_NEAR(result.step_ns, 5300.0 / 3, 1e-3);
  EXPECT_NEAR(result.ideal_step_ns, ideal_ns, 1e-3);
  EXPECT_NEAR(result.step_slowdowns[1], 3100 / ideal_ns, 1e-6);
}

/// Of a program that calls MPI: the fault's share of the run is known.
class SlowRank : public testing::TestWithParam<synth::Pattern> {};

TEST_P(SlowRank, IsWhatTheRunWouldBeFasterWithout) {
  synth::RunSpec spec;
  spec.pattern = GetParam();
  spec.steps = 40;
  spec.noise.sigma = spec.noise.link_sigma = 0.001;
  synth::Fault fault;
  fault.where = 1;
  fault.severity = 0.5;
  const synth::SynthRun healthy(spec);
  spec.faults = {fault};
  const synth::SynthRun slow(spec);
  const analysis::MatchTables tables(slow);
  OperationGraph graph = build_graph(slow, tables);
  Replay replay(graph);
  EXPECT_EQ(replay.cut_count(), 0u);
  const WhatIf result = what_if(slow, tables);
  const auto length = static_cast<double>(slow.end_ns());
  EXPECT_NEAR(result.step_ns * 40 / length, 1.0, 0.03) << "the replay takes as long as the run";
  // The mean of ranks that do the same has the slow one in it.
  double fastest = 1.0;
  std::string best;
  for (const Scenario& one : result.scenarios) {
    if (one.kind == Scenario::Kind::kRank && one.gain > fastest) {
      fastest = one.gain;
      best = one.name;
    }
  }
  EXPECT_EQ(best, "rank 1");
  const double truth = length / static_cast<double>(healthy.end_ns());
  EXPECT_GT(fastest, 1.0 + (truth - 1.0) / 2);
  EXPECT_LE(fastest, truth * 1.02);
}

INSTANTIATE_TEST_SUITE_P(Patterns, SlowRank,
                         testing::Values(synth::Pattern::k1F1B, synth::Pattern::kInterleaved,
                                         synth::Pattern::kHalo));

TEST(WhatIf, SaysNothingWhereStepsAreUnlikeEachOther) {
  SyncGraph made(2);
  made.step({100, 200}, 10);
  for (std::uint32_t i = 0; i < made.graph.operations.size(); ++i)
    made.graph.operations[i].type = i;
  made.graph.types = {{0, true}, {1, false}, {0, true}, {1, false}};
  const WhatIf result = what_if(made.graph, {});
  EXPECT_FALSE(result.is_there());
  EXPECT_EQ(result.limitations.size(), 1u);
}

/// Rank 0 works 5000 ns a step, rank 1 1000 ns; usual is 3000 ns for both, since they make the same
/// calls.
constexpr std::uint64_t kWork[2] = {5000, 1000};
constexpr int kSteps = 50;

TEST(WhatIf, LetsARootLeaveABroadcastBeforeTheOthersCome) {
  SampleRun run(2);
  std::uint64_t now[2] = {1000, 1000};
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::uint64_t enter[2] = {now[0] + kWork[0], now[1] + kWork[1]};
    now[0] = enter[0] + 100;
    now[1] = std::max(enter[0], enter[1]) + 200;
    for (const int rank : {0, 1})
      run.spent(rank, "MPI_Bcast", enter[rank], now[rank], {test::collective(step, 0)});
  }
  const auto source = run.source();
  const WhatIf result = what_if(*source, analysis::MatchTables(*source));
  EXPECT_NEAR(result.step_ns, 5100, 20);
  EXPECT_NEAR(result.ideal_step_ns, 3150, 60)
      << "rank 1, which waits for no rank then, is the slower by its longer call";
  EXPECT_NEAR(scenario(result, "rank 0").gain, 5100.0 / 3100.0, 0.02)
      << "rank 1 is as fast as it was";
  EXPECT_NEAR(scenario(result, "rank 1").gain, 1.0, 0.001) << "the root waits for no rank";
}

TEST(WhatIf, CountsANonblockingReductionFromItsStart) {
  SampleRun run(2);
  std::uint64_t now[2] = {1000, 1000};
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    const std::uint64_t start[2] = {now[0] + kWork[0], now[1] + kWork[1]};
    for (const int rank : {0, 1}) {
      const Fact reduction = test::collective(step);
      const Fact begun = with_request(FactKind::kCollectiveRequest, step + 1, reduction);
      const Fact completed = with_request(FactKind::kCollectiveComplete, step + 1, reduction);
      const std::uint64_t wait = start[rank] + 60;
      now[rank] = std::max(start[0], start[1]) + 400;
      run.spent(rank, "MPI_Iallreduce", start[rank], start[rank] + 50, {begun});
      run.spent(rank, "MPI_Wait", wait, now[rank], {completed});
    }
  }
  const auto source = run.source();
  const WhatIf result = what_if(*source, analysis::MatchTables(*source));
  // The first step has no work before it: only its wait, which began out of sight, counts.
  EXPECT_NEAR(result.step_ns, (49 * 5400 + 350) / 50.0, 1);
  EXPECT_NEAR(result.ideal_step_ns, (49 * 3400 + 2350) / 50.0, 1);
  EXPECT_NEAR(scenario(result, "rank 0").gain, (49 * 5400 + 350) / (49 * 3400 + 2350.0), 0.001);
  EXPECT_NEAR(scenario(result, "MPI_Wait").gain, 1.0, 0.01)
      << "the reduction takes what it takes always";
}

TEST(WhatIf, SaysNothingWithoutSteps) {
  SampleRun run(2);
  run.finish(100);
  const auto source = run.source();
  EXPECT_FALSE(what_if(*source, analysis::MatchTables(*source)).is_there());
}

}  // namespace
}  // namespace megascope::whatif
