#include "analysis/cpu/preempted.h"

#include <gtest/gtest.h>

namespace megascope::cpu {
namespace {

using detect::Cause;

constexpr std::int32_t kSteps = 20;

/// Of a step, in ms.
struct Work {
  double cpu;
  double wait = 0;
  double sleep = 0;
};

RankCpu rank_that(std::int32_t number, const Work& work, double wait_in_mpi = 0) {
  RankCpu rank;
  rank.world_rank = number;
  rank.reading_count = 100;
  rank.has_wait = true;
  SplitSums step;
  step.outside = {.wall_ns = (work.cpu + work.wait + work.sleep) * 1e6,
                  .cpu_ns = work.cpu * 1e6,
                  .wait_ns = work.wait * 1e6};
  step.inside = {.wall_ns = 10e6, .cpu_ns = (10 - wait_in_mpi) * 1e6, .wait_ns = wait_in_mpi * 1e6};
  rank.steps.assign(kSteps, step);
  for (const SplitSums& one : rank.steps) rank.whole.add(one);
  return rank;
}

detect::RootCause root_cause(std::vector<std::int32_t> ranks, double factor,
                             Cause cause = Cause::kSlowCompute) {
  detect::RootCause one;
  one.cause = cause;
  one.ranks = std::move(ranks);
  one.hosts = {"n1"};
  one.factor = factor;
  one.last_step = kSteps - 1;
  one.active_steps = kSteps;
  one.cost_fraction = 0.2;
  return one;
}

detect::Detection judged(const std::vector<RankCpu>& times,
                         std::vector<detect::RootCause> root_causes,
                         const std::vector<SharedCores>& shared = {}) {
  detect::Detection detection;
  detection.root_causes = std::move(root_causes);
  detection.step_count = kSteps;
  for (const RankCpu& rank : times) detection.judged_ranks.push_back(rank.world_rank);
  name_preempted(times, shared, detection);
  return detection;
}

const SharedCores kFourOnTwo{.host = "n1", .ranks = {0, 1, 2, 3}, .cores = 2, .processors = 2};

TEST(Preempted, ARankThatWaitsForACoreIs) {
  const auto detection = judged({rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 10, .wait = 10})},
                                {root_cause({1}, 2.0)});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kPreempted);
  EXPECT_NEAR(detection.root_causes[0].core_wait_ns, 200e6, 1);
  EXPECT_EQ(detection.root_causes[0].core_wait_reason, "");
}

TEST(Preempted, ARankThatComputesLongerIsNot) {
  const auto detection = judged({rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 13})},
                                {root_cause({1}, 1.3)});
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
  EXPECT_EQ(detection.root_causes[0].core_wait_ns, 0.0);
}

TEST(Preempted, ARankThatSleepsIsNot) {
  const auto detection = judged({rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 10, .sleep = 10})},
                                {root_cause({1}, 2.0)});
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
}

/// All wait alike: what is left is its own.
TEST(Preempted, ARankThatComputesLongerWhereAllWaitIsNot) {
  const auto detection = judged(
      {rank_that(0, {.cpu = 10, .wait = 10}), rank_that(1, {.cpu = 13, .wait = 13}),
       rank_that(2, {.cpu = 10, .wait = 10}), rank_that(3, {.cpu = 10, .wait = 10})},
      {root_cause({1}, 1.3)}, {kFourOnTwo});
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
}

TEST(Preempted, ARootCauseOfSeveralHasTheStepsOfAll) {
  const std::vector<RankCpu> times = {
      rank_that(0, {.cpu = 10, .wait = 5}), rank_that(1, {.cpu = 10, .wait = 12}),
      rank_that(2, {.cpu = 10, .wait = 4}), rank_that(3, {.cpu = 10, .wait = 11})};
  detect::RootCause one = root_cause({1}, 1.45);
  one.steps = {0, 1, 2};
  detect::RootCause other = root_cause({3}, 1.4);
  other.steps = {2, 3};
  one.active_steps = 3;
  other.active_steps = 2;
  const auto detection = judged(times, {one, other}, {kFourOnTwo});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].steps, (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(detection.root_causes[0].active_steps, 4);
}

TEST(Preempted, RanksThatShareCoresAreOneRootCause) {
  const std::vector<RankCpu> times = {
      rank_that(0, {.cpu = 10, .wait = 5}), rank_that(1, {.cpu = 10, .wait = 12}),
      rank_that(2, {.cpu = 10, .wait = 4}), rank_that(3, {.cpu = 10, .wait = 11})};
  const auto detection = judged(
      times, {root_cause({1}, 1.45), root_cause({3}, 1.4, Cause::kInputImbalance)}, {kFourOnTwo});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kPreempted);
  EXPECT_EQ(detection.root_causes[0].ranks, (std::vector<std::int32_t>{1, 3}));
  EXPECT_EQ(detection.root_causes[0].core_wait_reason, "4 ranks share 2 cores on node n1");
  EXPECT_NEAR(detection.root_causes[0].core_wait_ns, 20 * 23e6, 1);
}

/// Where it is not clear in which part it waited, that it computes longer would have to be seen.
TEST(Preempted, OfRanksThatShareCoresWaitsInMpiCount) {
  const std::vector<RankCpu> times = {rank_that(0, {.cpu = 10}, 8), rank_that(1, {.cpu = 11}, 8),
                                      rank_that(2, {.cpu = 10}, 8), rank_that(3, {.cpu = 10}, 8)};
  EXPECT_EQ(judged(times, {root_cause({1}, 1.1)}, {kFourOnTwo}).root_causes[0].cause,
            Cause::kPreempted);
  EXPECT_EQ(judged(times, {root_cause({1}, 1.1)}).root_causes[0].cause, Cause::kSlowCompute)
      << "they share none";
  const std::vector<RankCpu> sleeping = {
      rank_that(0, {.cpu = 10}, 8), rank_that(1, {.cpu = 10, .sleep = 5}, 8),
      rank_that(2, {.cpu = 10}, 8), rank_that(3, {.cpu = 10}, 8)};
  EXPECT_EQ(judged(sleeping, {root_cause({1}, 1.5)}, {kFourOnTwo}).root_causes[0].cause,
            Cause::kSlowCompute)
      << "it sleeps";
}

/// A poll that yields waits for a core with nothing to do: what happens in MPI explains no work.
TEST(Preempted, WaitingInMpiExplainsNoWork) {
  const auto detection = judged(
      {rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 13}, /*wait_in_mpi=*/9)},
      {root_cause({1}, 1.3)});
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
}

TEST(Preempted, WithoutTheWaitNothingIsRenamed) {
  std::vector<RankCpu> times = {rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 10, .wait = 10})};
  times[1].has_wait = false;
  EXPECT_EQ(judged(times, {root_cause({1}, 2.0)}).root_causes[0].cause, Cause::kSlowCompute);
}

TEST(Preempted, OnlyTheStepsInWhichItWasSlowCount) {
  std::vector<RankCpu> times = {rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 10})};
  for (std::size_t step = 0; step < kSteps; step += 5)
    times[1].steps[step].outside = {.wall_ns = 20e6, .cpu_ns = 10e6, .wait_ns = 10e6};
  detect::RootCause slow = root_cause({1}, 2.0);
  slow.active_steps = 4;
  EXPECT_EQ(judged(times, {slow}).root_causes[0].cause, Cause::kPreempted);
}

TEST(Preempted, RootCausesOutsideOfTheStepsDoNoHarm) {
  detect::RootCause odd = root_cause({1}, 2.0);
  odd.onset_step = 1000;
  odd.last_step = -5;
  odd.active_steps = 7;
  EXPECT_EQ(judged({rank_that(0, {.cpu = 10}), rank_that(1, {.cpu = 10, .wait = 10})}, {odd})
                .root_causes[0]
                .cause,
            Cause::kSlowCompute);
}

}  // namespace
}  // namespace megascope::cpu
