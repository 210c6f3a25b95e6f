#include "analysis/cpu/shared_core_noise.h"

#include <gtest/gtest.h>

namespace megascope::cpu {
namespace {

using detect::Cause;

constexpr std::size_t kSteps = 100;

/// Four ranks with steps of 10 ms whose CPU times are estimates.
std::vector<RankCpu> four_ranks() {
  std::vector<RankCpu> times;
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    RankCpu one;
    one.world_rank = rank;
    one.reading_count = 100;
    one.has_wait = true;
    one.measured_share = 0.8;
    one.interpolated_share = 0.9;
    one.whole.outside = {.wall_ns = 6e8, .cpu_ns = 3e8, .wait_ns = 3e8};
    one.steps.resize(kSteps);
    for (SplitSums& step : one.steps) {
      step.outside = {.wall_ns = 6e6, .cpu_ns = 3e6, .wait_ns = 3e6};
      step.inside = {.wall_ns = 4e6, .cpu_ns = 2e6, .wait_ns = 2e6};
    }
    times.push_back(one);
  }
  return times;
}

detect::RootCause slow_rank_1(std::int32_t active_steps) {
  detect::RootCause one;
  one.cause = Cause::kSlowCompute;
  one.ranks = {1};
  one.factor = 1.7;
  one.onset_step = 10;
  one.last_step = 10 + active_steps - 1;
  one.active_steps = active_steps;
  for (std::int32_t step = one.onset_step; step <= one.last_step; ++step) one.steps.push_back(step);
  return one;
}

const SharedCores kAllShareTwo{.host = "n1", .ranks = {0, 1, 2, 3}, .cores = 2};

bool is_kept(const std::vector<RankCpu>& times, const detect::RootCause& root_cause,
             const std::vector<SharedCores>& shared = {kAllShareTwo}) {
  detect::Detection detection;
  detection.root_causes = {root_cause};
  dismiss_scheduling_noise(times, shared, detection);
  EXPECT_EQ(detection.limitations.size(), detection.root_causes.empty() ? 1u : 0u);
  return !detection.root_causes.empty();
}

TEST(SharedCoreNoise, FewStepsOfARankThatSharesCoresShowNothing) {
  EXPECT_FALSE(is_kept(four_ranks(), slow_rank_1(9)));
  detect::RootCause stall = slow_rank_1(9);
  stall.cause = Cause::kHostStall;
  EXPECT_FALSE(is_kept(four_ranks(), stall));
}

TEST(SharedCoreNoise, HalfOfTheStepsShowASlowRank) {
  EXPECT_FALSE(is_kept(four_ranks(), slow_rank_1(49)));
  EXPECT_TRUE(is_kept(four_ranks(), slow_rank_1(50)));
}

TEST(SharedCoreNoise, ASecondShowsASlowRank) {
  std::vector<RankCpu> times = four_ranks();
  for (SplitSums& step : times[1].steps) step.outside.wall_ns = 196e6;  // steps of 200 ms
  EXPECT_TRUE(is_kept(times, slow_rank_1(5)));
  EXPECT_FALSE(is_kept(times, slow_rank_1(4)));
}

TEST(SharedCoreNoise, LongPausesInFewStepsAreNoScheduling) {
  std::vector<RankCpu> times = four_ranks();
  detect::RootCause stall = slow_rank_1(40);
  stall.cause = Cause::kHostStall;
  stall.steps = {10, 30, 49};
  stall.active_steps = 3;
  EXPECT_FALSE(is_kept(times, stall));
  for (const std::size_t step : {10U, 30U, 49U}) times[1].steps[step].outside.wall_ns = 5e9;
  EXPECT_TRUE(is_kept(times, stall));
}

TEST(SharedCoreNoise, RanksThatDoNotWaitForACoreAreJudged) {
  std::vector<RankCpu> times = four_ranks();
  times[1].whole.outside.wait_ns = 0.04 * times[1].whole.outside.wall_ns;
  EXPECT_TRUE(is_kept(times, slow_rank_1(9)));
}

TEST(SharedCoreNoise, WhatAllRanksOfTheCoresShowIsJudged) {
  detect::RootCause all = slow_rank_1(9);
  all.ranks = {0, 1, 2, 3};
  EXPECT_TRUE(is_kept(four_ranks(), all));
}

TEST(SharedCoreNoise, MeasuredCpuTimesAreEnough) {
  std::vector<RankCpu> times = four_ranks();
  times[1].interpolated_share = 0.1;
  EXPECT_TRUE(is_kept(times, slow_rank_1(9)));
  times[1].measured_share = 0.4;
  EXPECT_FALSE(is_kept(times, slow_rank_1(9))) << "MPI is not separated";
}

TEST(SharedCoreNoise, RanksWithCoresOfTheirOwnAreJudged) {
  EXPECT_TRUE(is_kept(four_ranks(), slow_rank_1(9), {}));
  EXPECT_TRUE(
      is_kept(four_ranks(), slow_rank_1(9), {{.host = "n1", .ranks = {0, 2, 3}, .cores = 1}}));
}

TEST(SharedCoreNoise, OtherCausesStay) {
  for (const Cause cause : {Cause::kPreempted, Cause::kSlowLink, Cause::kBlocked}) {
    detect::RootCause one = slow_rank_1(9);
    one.cause = cause;
    EXPECT_TRUE(is_kept(four_ranks(), one));
  }
}

}  // namespace
}  // namespace megascope::cpu
