#include "analysis/detect/work_judge.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

/// Which sets of ranks are slow, from their work by step.
namespace megascope::detect {
namespace {

using testing::IsEmpty;

constexpr std::size_t kSteps = 20;

/// Ranks with the same number of calls in each step and this work, but for noise.
struct Work {
  std::size_t ranks = 8;
  std::size_t ranks_per_host = 4;
  std::size_t stages = 1;         ///< stage of a rank: its index modulo this
  bool are_hosts_stages = false;  ///< then it is its host
  double noise = 0.003;
  unsigned seed = 11;
  std::function<double(std::size_t, std::size_t)> factor = [](std::size_t, std::size_t) {
    return 1.0;
  };

  Reduced reduced() const {
    Reduced result;
    result.step_count = kSteps;
    std::mt19937 random(seed);
    std::normal_distribution<double> off(0.0, noise);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      RankSteps& steps = result.ranks.emplace_back();
      steps.world_rank = static_cast<std::int32_t>(rank);
      for (std::size_t step = 0; step < kSteps; ++step) {
        StepRow& row = steps.steps.emplace_back();
        row.call_count = 16;
        for (float& part : row.work_ns)
          part = static_cast<float>(1e6 * factor(rank, step) * (1.0 + off(random)));
      }
    }
    return result;
  }

  Peers peers() const {
    Peers result;
    result.classes.resize(stages);
    result.is_pipeline = stages > 1;
    result.hosts.resize(ranks / ranks_per_host);
    if (stages > 1) result.replicas.resize(ranks / stages);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const std::size_t stage = are_hosts_stages ? rank / ranks_per_host : rank % stages;
      result.class_of.push_back(stage);
      result.classes[stage].push_back(rank);
      result.host_of.push_back(rank / ranks_per_host);
      result.hosts[rank / ranks_per_host].push_back(rank);
      if (stages > 1) result.replicas[rank / stages].push_back(rank);
    }
    return result;
  }

  std::vector<SlowUnit> found() const {
    const Reduced reduced_work = reduced();
    const Peers all_peers = peers();
    WorkSeries work = compare_work(reduced_work, all_peers);
    relate_classes(all_peers, work);
    return slow_units(work, all_peers, Options{});
  }
};

TEST(WorkJudge, FindsNothingInEqualWork) {
  EXPECT_THAT(Work{}.found(), IsEmpty());
  EXPECT_THAT((Work{.ranks = 16, .stages = 4}.found()), IsEmpty());
}

TEST(WorkJudge, NamesASlowHost) {
  Work work;
  work.factor = [](std::size_t rank, std::size_t) { return rank >= 4 ? 1.1 : 1.0; };
  const std::vector<SlowUnit> found = work.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Together::kHost);
  EXPECT_EQ(found[0].index, 1u);
}

TEST(WorkJudge, ASlowHostIsNamedAlthoughOneOfItsRanksIsMuchSlower) {
  Work work;
  work.factor = [](std::size_t rank, std::size_t) {
    return rank == 7 ? 1.5 : rank >= 4 ? 1.05 : 1.0;
  };
  const std::vector<SlowUnit> found = work.found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, Together::kHost);
  EXPECT_EQ(found[0].index, 1u);
  EXPECT_EQ(found[1].index, 7u);
}

TEST(WorkJudge, NamesBothASlowHostAndItsRankThatIsSlowForAWhile) {
  Work work;
  work.factor = [](std::size_t rank, std::size_t step) {
    const double of_host = rank >= 4 ? 1.08 : 1.0;
    return rank == 6 && step >= 5 && step < 15 ? 1.3 * of_host : of_host;
  };
  const std::vector<SlowUnit> found = work.found();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].kind, Together::kHost);
  EXPECT_NEAR(std::exp(found[0].finding.excess), 1.08, 0.01) << "without its slow rank";
  EXPECT_EQ(found[1].index, 6u);
  EXPECT_EQ(found[1].within, (std::vector<std::size_t>{4, 5, 6, 7}));
  EXPECT_NEAR(std::exp(found[1].finding.excess), 1.3, 0.02);
  EXPECT_EQ(found[1].finding.onset, 5u);
  EXPECT_EQ(found[1].finding.last, 14u);
}

/// The host's ranks are a whole class, which is judged as such.
TEST(WorkJudge, AHostThatIsAWholeStageIsKeptBesideItsSlowerRank) {
  Work work{.ranks = 16, .ranks_per_host = 4, .stages = 4, .are_hosts_stages = true};
  work.factor = [](std::size_t rank, std::size_t step) {
    const double of_host = rank / 4 == 1 && step >= 6 ? 1.2 : 1.0;
    return rank == 6 ? 1.3 * of_host : of_host;
  };
  std::vector<std::size_t> named;
  for (const SlowUnit& unit : work.found()) {
    named.push_back(unit.index);
    EXPECT_EQ(unit.kind, named.back() == 1 ? Together::kHost : Together::kRank);
  }
  EXPECT_THAT(named, testing::UnorderedElementsAre(1u, 6u)) << "each once";
}

TEST(WorkJudge, RanksOfASlowHostThatAreEqualAreNotNamed) {
  for (const std::size_t on_host : {3U, 4U, 5U}) {
    for (unsigned seed = 1; seed <= 100; ++seed) {
      Work work{.ranks = 4 * on_host, .ranks_per_host = on_host, .noise = 0.03, .seed = seed};
      work.factor = [&](std::size_t rank, std::size_t) { return rank < on_host ? 1.2 : 1.0; };
      for (const SlowUnit& unit : work.found())
        EXPECT_EQ(unit.kind, Together::kHost) << on_host << " ranks, seed " << seed;
    }
  }
}

/// The other ranks of its host are slower by little, for a while, as hosts of a machine are.
TEST(WorkJudge, ARankThatIsMuchSlowerThanItsHostIsNamed) {
  Work work;
  work.factor = [](std::size_t rank, std::size_t step) {
    const double of_host = rank >= 4 && step < 16 ? 1.012 : 1.0;
    return rank == 7 && step >= 4 && step < 14 ? 1.1 * of_host : of_host;
  };
  const std::vector<SlowUnit> found = work.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Together::kRank);
  EXPECT_EQ(found[0].index, 7u);
  EXPECT_NEAR(std::exp(found[0].finding.excess), 1.1, 0.02);
}

TEST(WorkJudge, StagesWhoseLoadGrowsAlikeAreEqual) {
  for (const double noise : {0.01, 0.015, 0.02}) {
    for (unsigned seed = 1; seed <= 200; ++seed) {
      Work work{.ranks = 8, .stages = 4, .noise = noise, .seed = seed};
      work.factor = [](std::size_t, std::size_t step) {
        return 1.0 + 0.1 * static_cast<double>(step) / kSteps;
      };
      EXPECT_THAT(work.found(), IsEmpty()) << "noise " << noise << ", seed " << seed;
    }
  }
}

TEST(WorkJudge, NamesAStageWithMoreWorkAlthoughTheLoadGrows) {
  Work work{.ranks = 8, .stages = 4};
  work.factor = [](std::size_t rank, std::size_t step) {
    return (rank % 4 == 3 ? 1.05 : 1.0) * (1.0 + 0.1 * static_cast<double>(step) / kSteps);
  };
  const std::vector<SlowUnit> found = work.found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Together::kClass);
  EXPECT_EQ(found[0].index, 3u);
  EXPECT_NEAR(std::exp(found[0].finding.excess), 1.05, 0.01);
}

}  // namespace
}  // namespace megascope::detect
