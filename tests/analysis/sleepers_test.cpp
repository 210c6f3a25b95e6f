#include "analysis/cpu/sleepers.h"

#include <gtest/gtest.h>

namespace megascope::cpu {
namespace {

using detect::Cause;

/// Ranks with times outside of MPI, in ms: their readings, and the accounts that refer to them.
struct Ranks {
  struct Outside {
    double cpu;
    double sleep;
  };

  explicit Ranks(const std::vector<Outside>& of_ranks) {
    for (const Outside& outside : of_ranks) {
      RankCpu one;
      one.measured_share = 1.0;
      one.whole.outside = {.wall_ns = (outside.cpu + outside.sleep) * 1e6,
                           .cpu_ns = outside.cpu * 1e6,
                           .wait_ns = 0.0};
      times.push_back(one);
    }
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
      Account account;
      account.world_rank = static_cast<std::int32_t>(rank);
      account.times = &times[rank];
      account.wall_ns = 1e9;
      account.outside_ns = times[rank].whole.outside.wall_ns;
      account.blocked_ns = of_ranks[rank].sleep * 1e6;
      accounts.push_back(account);
    }
  }

  std::vector<RankCpu> times;
  std::vector<Account> accounts;
};

/// Whether a root cause of rank 1 with this factor is kept in a run of 1 s.
bool is_kept(const Ranks& ranks, double factor, Cause cause = Cause::kSlowCompute,
             double cost = 0.04) {
  detect::Detection detection;
  detect::RootCause one;
  one.cause = cause;
  one.ranks = {1};
  one.factor = factor;
  one.cost_fraction = cost;
  detection.root_causes = {one};
  dismiss_sleepers(ranks.accounts, detection);
  EXPECT_EQ(detection.limitations.size(), detection.root_causes.empty() ? 1u : 0u);
  return !detection.root_causes.empty();
}

TEST(Sleepers, OneOfRanksThatAllSleepMaySleepALittleLonger) {
  const Ranks ranks({{100, 700}, {102, 740}, {101, 690}});
  EXPECT_FALSE(is_kept(ranks, 1.05));
  EXPECT_FALSE(is_kept(ranks, 1.05, Cause::kInputImbalance));
  EXPECT_FALSE(is_kept(ranks, 1.05, Cause::kHostStall));
}

TEST(Sleepers, OneThatSleepsATenthLongerIsSlow) {
  EXPECT_TRUE(is_kept(Ranks({{100, 700}, {102, 780}, {101, 690}}), 1.1));
}

TEST(Sleepers, OneThatComputesLongerIsSlowAlthoughAllSleep) {
  EXPECT_TRUE(is_kept(Ranks({{100, 700}, {125, 720}, {101, 690}}), 1.05)) << "24.5 of the 40 ms";
  EXPECT_FALSE(
      is_kept(Ranks({{100, 700}, {118, 720}, {101, 690}}), 1.05, Cause::kSlowCompute, 0.01))
      << "17.5 ms of 1 s";
}

TEST(Sleepers, CpuTimesThatAreEstimatesShowNothing) {
  Ranks ranks({{100, 700}, {125, 720}, {101, 690}});
  for (RankCpu& rank : ranks.times) rank.measured_share = 0.4;
  EXPECT_FALSE(is_kept(ranks, 1.05));
}

TEST(Sleepers, OneThatSleepsWhileOthersComputeIsSlow) {
  EXPECT_TRUE(is_kept(Ranks({{750, 50}, {100, 740}, {760, 50}}), 1.05));
}

TEST(Sleepers, RanksThatComputeAreNone) {
  EXPECT_TRUE(is_kept(Ranks({{700, 100}, {730, 110}, {690, 100}}), 1.05));
}

TEST(Sleepers, OtherCausesAndSeveralRanksStay) {
  const Ranks ranks({{100, 700}, {102, 740}, {101, 690}});
  EXPECT_TRUE(is_kept(ranks, 1.05, Cause::kPreempted));
  EXPECT_TRUE(is_kept(ranks, 1.05, Cause::kSlowLink));
  EXPECT_TRUE(is_kept(Ranks({{102, 740}}), 1.05)) << "there is no rank to compare it with";
}

}  // namespace
}  // namespace megascope::cpu
