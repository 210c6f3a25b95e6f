#include "analysis/detect/dragged_classes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

/// Ranks that make their class slow, through work in which it synchronises.
namespace megascope::detect {
namespace {

constexpr std::size_t kSteps = 10;
constexpr double kShare = 0.5;

Finding finding_of(std::vector<bool> is_active, double excess) {
  Finding finding;
  finding.is_active = std::move(is_active);
  for (const bool is_one : finding.is_active) finding.active_steps += is_one ? 1 : 0;
  finding.last = finding.is_active.size() - 1;
  finding.excess = excess;
  return finding;
}

Finding always(double excess) { return finding_of(std::vector<bool>(kSteps, true), excess); }

/// A class of four ranks, which synchronise two and two in half of their work.
struct Class {
  WorkSeries work;
  std::vector<SlowUnit> found;

  Class() {
    for (const std::vector<std::size_t>& members : {std::vector<std::size_t>{0, 1}, {2, 3}}) {
      SharedSeries shared;
      shared.members = members;
      shared.share = kShare;
      shared.has_peers = true;
      shared.operation = "backward";
      work.shared.push_back(shared);
    }
  }
  void slow_down(std::size_t rank, double excess) {
    found.push_back({Together::kRank, rank, {rank}, always(excess)});
  }
  double dragged(const Finding& of_class) const {
    return detect::dragged(work, found, 0, of_class);
  }
};

TEST(DraggedClasses, ARankInEachGroupMakesTheClassSlow) {
  Class one;
  one.slow_down(1, std::log(1.5));
  one.slow_down(2, std::log(1.5));
  EXPECT_NEAR(one.dragged(always(0.2)), -std::log(1.0 - kShare / 3.0), 1e-9);
}

TEST(DraggedClasses, ASlowGroupIsNotTheClass) {
  Class one;
  one.slow_down(1, std::log(1.5));
  one.slow_down(0, std::log(1.4));
  EXPECT_LT(one.dragged(always(0.2)), 0.5 * -std::log(1.0 - kShare / 3.0));
  Class none;
  EXPECT_EQ(none.dragged(always(0.2)), 0.0);
}

TEST(DraggedClasses, WorkOfTwoOperationsAddsUp) {
  Class one;
  for (std::size_t i = 0; i < 2; ++i) {
    one.work.shared[i].members = {0, 1, 2, 3};
    one.work.shared[i].share = 0.3;
    one.work.shared[i].operation = std::string(1, static_cast<char>('a' + i));
  }
  one.slow_down(2, std::log(5.0));
  EXPECT_NEAR(one.dragged(always(0.9)), -std::log(1.0 - 0.6 * 0.8), 1e-9);
}

/// One of four ranks pauses in half of the steps, and no other ever does.
TEST(StalledRanks, AreFoundAmongFew) {
  constexpr std::size_t kMany = 20;
  WorkSeries work;
  work.independent.assign(4, 0.002);
  work.stall.assign(4, std::vector<double>(kMany, 0.0));
  for (const auto& [step, stall] : std::map<std::size_t, double>{{1, 0.23},
                                                                 {2, 0.22},
                                                                 {4, 0.2},
                                                                 {8, 0.21},
                                                                 {9, 0.12},
                                                                 {12, 0.25},
                                                                 {16, 0.4},
                                                                 {18, 0.37},
                                                                 {19, 0.3}})
    work.stall[3][step] = stall;
  const std::vector<Finding> findings = stalled_ranks(work, Peers{}, Options{});
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(findings[rank].is_there()) << rank;
  ASSERT_TRUE(findings[3].is_there());
  EXPECT_GE(findings[3].active_steps, 8U);
}

}  // namespace
}  // namespace megascope::detect
