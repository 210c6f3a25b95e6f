#include "analysis/cpu/whole_run.h"

#include <gtest/gtest.h>

namespace megascope::cpu {
namespace {

using detect::Cause;

constexpr std::int32_t kSteps = 20;

/// Of the whole run, in ms: outside of MPI and inside.
struct Times {
  double cpu = 500;
  double wait = 0;
  double sleep = 0;
  double in_cpu = 500;
  double in_wait = 0;
  double in_sleep = 0;
};

CpuSums sums_of(double cpu_ms, double wait_ms, double sleep_ms) {
  return {.wall_ns = (cpu_ms + wait_ms + sleep_ms) * 1e6,
          .cpu_ns = cpu_ms * 1e6,
          .wait_ns = wait_ms * 1e6};
}

/// Its readings tell outside from inside.
RankCpu rank_that(std::int32_t number, const Times& times) {
  RankCpu rank;
  rank.world_rank = number;
  rank.reading_count = 100;
  rank.has_wait = true;
  rank.whole = {.outside = sums_of(times.cpu, times.wait, times.sleep),
                .inside = sums_of(times.in_cpu, times.in_wait, times.in_sleep)};
  rank.measured = rank.whole;
  return rank;
}

RankCpus on_core(std::int32_t rank, std::uint32_t core) {
  RankCpus cpus{.world_rank = rank, .host = "n1", .cpus = {}};
  cpus.cpus.cores = {core};
  cpus.cpus.processors = 1;
  return cpus;
}

/// Rank i on core i.
std::vector<RankCpus> own_cores(std::int32_t count) {
  std::vector<RankCpus> cpus;
  for (std::int32_t rank = 0; rank < count; ++rank)
    cpus.push_back(on_core(rank, static_cast<std::uint32_t>(rank)));
  return cpus;
}

detect::RootCause root_cause(std::vector<std::int32_t> ranks, Cause cause, double cost) {
  detect::RootCause one;
  one.cause = cause;
  one.ranks = std::move(ranks);
  one.factor = 1.3;
  one.onset_step = 4;
  one.last_step = kSteps - 1;
  one.active_steps = 16;
  one.cost_fraction = cost;
  one.evidence.observed_ns = 1e6;
  return one;
}

detect::Detection judged(const std::vector<RankCpu>& times, const std::vector<RankCpus>& cpus,
                         std::vector<detect::RootCause> root_causes = {}) {
  detect::Detection detection;
  detection.root_causes = std::move(root_causes);
  detection.step_count = kSteps;
  judge_whole_run(accounts_of(times, cpus), detection);
  return detection;
}

std::vector<std::int32_t> ranks(std::initializer_list<std::int32_t> list) { return list; }

TEST(WholeRun, ARankThatSleepsIsBlockedAlsoWhereNoStepShowsIt) {
  const auto detection = judged({rank_that(0, {}), rank_that(1, {}),
                                 rank_that(2, {.sleep = 300, .in_cpu = 200}), rank_that(3, {})},
                                own_cores(4));
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kBlocked);
  EXPECT_EQ(detection.root_causes[0].ranks, ranks({2}));
  EXPECT_FALSE(detection.root_causes[0].is_in_mpi);
  EXPECT_NEAR(detection.root_causes[0].blocked_ns, 300e6, 1);
  EXPECT_NEAR(detection.root_causes[0].cost_fraction, 0.3, 1e-9);
  EXPECT_NEAR(detection.root_causes[0].factor, 1.6, 1e-9);
}

TEST(WholeRun, WhatStepsShowOfABlockedRankStays) {
  const auto detection = judged({rank_that(0, {}), rank_that(1, {.sleep = 300, .in_cpu = 200})},
                                own_cores(2), {root_cause({1}, Cause::kSlowCompute, 0.25)});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kBlocked);
  EXPECT_EQ(detection.root_causes[0].onset_step, 4);
}

TEST(WholeRun, ARankThatComputesLongerAndSleepsALittleIsNotBlocked) {
  const auto detection = judged(
      {rank_that(0, {}), rank_that(1, {.cpu = 800, .sleep = 40, .in_cpu = 160})}, own_cores(2),
      {root_cause({1}, Cause::kSlowCompute, 0.3)});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
}

TEST(WholeRun, RanksThatAllSleepAlikeAreNoFinding) {
  std::vector<RankCpu> times;
  for (std::int32_t rank = 0; rank < 4; ++rank)
    times.push_back(rank_that(rank, {.sleep = 300 + 5.0 * rank}));
  EXPECT_TRUE(judged(times, own_cores(4)).root_causes.empty());
}

TEST(WholeRun, OfTwoThatSleepOneMaySleepALittleLonger) {
  EXPECT_TRUE(judged({rank_that(0, {.sleep = 400}), rank_that(1, {.sleep = 435})}, own_cores(2))
                  .root_causes.empty());
  EXPECT_EQ(judged({rank_that(0, {.sleep = 400}), rank_that(1, {.sleep = 500})}, own_cores(2))
                .root_causes.size(),
            1u);
}

/// A library that blocks in its calls: the slow rank waits least.
TEST(WholeRun, BlockedInMpiAsAllAreIsNoFinding) {
  const Times waits{.in_cpu = 10, .in_sleep = 490};
  const auto detection = judged({rank_that(0, waits), rank_that(1, waits), rank_that(2, waits),
                                 rank_that(3, {.cpu = 900, .in_cpu = 2, .in_sleep = 98})},
                                own_cores(4));
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
  EXPECT_EQ(detection.root_causes[0].ranks, ranks({3}));
}

TEST(WholeRun, ARankThatAloneIsBlockedInMpiIsAnnotated) {
  const auto detection = judged(
      {rank_that(0, {}), rank_that(1, {.in_cpu = 300, .in_sleep = 200}), rank_that(2, {})},
      own_cores(3));
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kBlocked);
  EXPECT_TRUE(detection.root_causes[0].is_in_mpi);
  EXPECT_NEAR(detection.root_causes[0].blocked_ns, 200e6, 1);
}

TEST(WholeRun, WhoHasTheCoreOfARankIsSomethingElse) {
  const auto detection = judged({rank_that(0, {}), rank_that(1, {.wait = 250, .in_wait = 250})},
                                own_cores(2), {root_cause({1}, Cause::kSlowCompute, 0.2)});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kPreempted);
  EXPECT_EQ(detection.root_causes[0].ranks, ranks({1}));
  EXPECT_NE(detection.root_causes[0].core_wait_reason.find("500"), std::string::npos)
      << detection.root_causes[0].core_wait_reason;
}

/// Two on a core: each waits while the other computes. On the other core a third program has a
/// third of it.
TEST(WholeRun, FellowsAreNothingElse) {
  const Times half{.cpu = 250, .wait = 250, .in_cpu = 250, .in_wait = 250};
  const Times third{.cpu = 167, .wait = 333, .in_cpu = 167, .in_wait = 333};
  const std::vector<RankCpus> cpus = {on_core(0, 0), on_core(1, 1), on_core(2, 0), on_core(3, 1)};
  EXPECT_TRUE(
      judged({rank_that(0, half), rank_that(1, half), rank_that(2, half), rank_that(3, half)}, cpus)
          .root_causes.empty());
  const auto detection = judged(
      {rank_that(0, half), rank_that(1, third), rank_that(2, half), rank_that(3, third)}, cpus);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kPreempted);
  EXPECT_EQ(detection.root_causes[0].ranks, ranks({1, 3}));
}

TEST(WholeRun, AControlGroupThatGrantsLessIsNothingElse) {
  std::vector<RankCpus> cpus = own_cores(2);
  for (RankCpus& one : cpus) one.cpus.granted_milli = 500;
  EXPECT_TRUE(judged({rank_that(0, {}), rank_that(1, {.wait = 250, .in_wait = 250})}, cpus)
                  .root_causes.empty());
}

TEST(WholeRun, WhereRanksWaitForCoresWhatSingleStepsShowHasToBeInTheWholeRun) {
  const Times half{.cpu = 250, .wait = 250, .in_cpu = 250, .in_wait = 250};
  const std::vector<RankCpus> cpus = {on_core(0, 0), on_core(1, 0)};
  const auto detection = judged({rank_that(0, half), rank_that(1, half)}, cpus,
                                {root_cause({1}, Cause::kSlowCompute, 0.1)});
  EXPECT_TRUE(detection.root_causes.empty());
  EXPECT_EQ(detection.limitations.size(), 1u);
  EXPECT_EQ(judged({rank_that(0, {}), rank_that(1, {})}, own_cores(2),
                   {root_cause({1}, Cause::kSlowCompute, 0.1)})
                .root_causes.size(),
            1u)
      << "they wait for none";
}

TEST(WholeRun, APauseInWhichTheThreadWasNotBlockedIsWork) {
  const auto detection = judged({rank_that(0, {}), rank_that(1, {.cpu = 600, .in_cpu = 400})},
                                own_cores(2), {root_cause({1}, Cause::kHostStall, 0.1)});
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_EQ(detection.root_causes[0].cause, Cause::kSlowCompute);
}

TEST(WholeRun, LinksOfRanksThatWaitInMpiAreNotJudgedUnlessOneIsBlockedThere) {
  const Times waits{.in_cpu = 300, .in_wait = 200};
  const std::vector<RankCpus> cpus = {on_core(0, 0), on_core(1, 0), on_core(2, 1), on_core(3, 1)};
  const std::vector<RankCpu> times = {rank_that(0, waits), rank_that(1, waits), rank_that(2, waits),
                                      rank_that(3, waits)};
  const auto detection = judged(times, cpus, {root_cause({0, 1}, Cause::kSlowLink, 0.2)});
  EXPECT_TRUE(detection.root_causes.empty());
  EXPECT_EQ(detection.limitations.size(), 1u);
  std::vector<RankCpu> blocked = times;
  blocked[0] = rank_that(0, {.in_cpu = 200, .in_wait = 100, .in_sleep = 200});
  const auto annotated = judged(
      blocked, cpus,
      {root_cause({0, 1}, Cause::kSlowLink, 0.2), root_cause({0, 2}, Cause::kSlowLink, 0.05),
       root_cause({2, 3}, Cause::kSlowLink, 0.1)});
  ASSERT_EQ(annotated.root_causes.size(), 1u);
  EXPECT_EQ(annotated.root_causes[0].ranks, ranks({0, 1})) << "of a blocked rank's links the worst";
}

TEST(WholeRun, WithoutReadingsOrAlonePassesAll) {
  RankCpu without = rank_that(1, {});
  without.has_wait = false;
  EXPECT_EQ(
      judged({rank_that(0, {}), without}, own_cores(2), {root_cause({1}, Cause::kHostStall, 0.2)})
          .root_causes[0]
          .cause,
      Cause::kHostStall);
  EXPECT_TRUE(judged({}, {}).root_causes.empty());
  EXPECT_TRUE(judged({rank_that(0, {.sleep = 400})}, own_cores(1)).root_causes.empty());
}

TEST(WholeRun, WithoutStepsTheWholeRunIsJudged) {
  detect::Detection detection;
  judge_whole_run(
      accounts_of({rank_that(0, {}), rank_that(1, {.sleep = 300, .in_cpu = 200})}, own_cores(2)),
      detection);
  ASSERT_EQ(detection.root_causes.size(), 1u);
  EXPECT_TRUE(detection.root_causes[0].steps.empty());
}

}  // namespace
}  // namespace megascope::cpu
