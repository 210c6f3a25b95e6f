#include "core/record/shared_cores.h"

#include <gtest/gtest.h>

namespace megascope {
namespace {

using Cores = std::vector<std::uint32_t>;

RankCpus rank(std::int32_t number, Cores cores, const std::string& host = "n1") {
  const auto count = static_cast<std::uint32_t>(cores.size());
  return {number,
          host,
          {.cores = std::move(cores),
           .processors = count,
           .node_cores = 0,
           .node_processors = 0,
           .granted_milli = 0,
           .group = {}}};
}

std::vector<std::string> texts(const std::vector<RankCpus>& ranks) {
  std::vector<std::string> all;
  for (const SharedCores& shared : shared_cores(ranks)) all.push_back(to_text(shared));
  return all;
}

using Texts = std::vector<std::string>;

TEST(SharedCores, AreThoseOfMoreRanksThanCores) {
  EXPECT_EQ(texts({rank(0, {0, 1}), rank(1, {0, 1}), rank(2, {0, 1}), rank(3, {0, 1})}),
            Texts{"4 ranks share 2 cores on node n1"});
  EXPECT_EQ(texts({rank(0, {0, 1}), rank(1, {0, 1})}), Texts{});
  EXPECT_EQ(texts({rank(0, {0}), rank(1, {1})}), Texts{});
}

TEST(SharedCores, RanksBoundToOneCoreShareItThoughOthersAreFree) {
  const std::vector<SharedCores> found = shared_cores(
      std::vector<RankCpus>{rank(0, {0}), rank(1, {0}), rank(2, {0, 1, 2, 3})});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].ranks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(to_text(found[0]), "2 ranks share 1 core on node n1");
}

TEST(SharedCores, EachNodeIsJudgedByItself) {
  EXPECT_EQ(texts({rank(0, {0}, "a"), rank(1, {0}, "b"), rank(2, {0}, "b")}),
            Texts{"2 ranks share 1 core on node b"});
}

TEST(SharedCores, SetsThatOverlapAreTakenTogether) {
  EXPECT_EQ(texts({rank(0, {0, 1}), rank(1, {1, 2}), rank(2, {0, 2}), rank(3, {0, 1, 2})}),
            Texts{"4 ranks share 3 cores on node n1"});
}

TEST(SharedCores, HyperThreadsAreReported) {
  std::vector<RankCpus> ranks = {rank(0, {0, 1}), rank(1, {0, 1}), rank(2, {0, 1}),
                                 rank(3, {0, 1})};
  for (RankCpus& one : ranks) one.cpus.processors = 4;
  EXPECT_EQ(texts(ranks), Texts{"4 ranks share 2 cores (4 hyper-threads) on node n1"});
}

TEST(SharedCores, AQuotaThatIsLessThanTheCoresCounts) {
  std::vector<RankCpus> ranks = {rank(0, {0, 1, 2, 3}), rank(1, {0, 1, 2, 3})};
  for (RankCpus& one : ranks) one.cpus.granted_milli = 1500;
  EXPECT_EQ(texts(ranks),
            Texts{"2 ranks share 1.5 processors that the control group grants on node n1"});
  ranks[1].cpus.group = "/other";
  EXPECT_EQ(texts(ranks), Texts{}) << "each has 1.5 of its own";
  ranks[1].cpus.granted_milli = 500;
  EXPECT_EQ(texts(ranks),
            Texts{"1 rank has 0.5 processors that the control group grants on node n1"});
}

TEST(SharedCores, RanksWhoseCoresAreNotKnownAreNotConsidered) {
  EXPECT_EQ(texts({rank(0, {}), rank(1, {}), rank(2, {0})}), Texts{});
}

}  // namespace
}  // namespace megascope
