#include "examples/add_a_rule/mostly_mpi.h"

#include <gmock/gmock.h>

namespace megascope::advice {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Ranks of 1000 ns each, with these times in MPI.
Findings found_with(const std::vector<std::uint64_t>& mpi_ns) {
  Facts facts;
  for (const std::uint64_t time_ns : mpi_ns) {
    RankFacts& rank = facts.ranks.emplace_back();
    rank.world_rank = static_cast<std::int32_t>(facts.ranks.size() - 1);
    rank.wall_ns = 1000;
    rank.mpi_ns = time_ns;
    facts.wall_ns += rank.wall_ns;
  }
  Findings found;
  find_mostly_mpi(facts, found);
  return found;
}

TEST(MostlyMpi, IsReportedForHalfOfTheRanks) {
  const Findings found = found_with({900, 100, 950, 899});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rule, "mostly_mpi");
  EXPECT_THAT(found[0].ranks, ElementsAre(0, 2));
  EXPECT_EQ(found[0].count, 2U);
  EXPECT_DOUBLE_EQ(found[0].share, 0.4625);
  EXPECT_EQ(found[0].text,
            "ranks 0, 2 spend more than 90 % of their time in MPI, 46 % of the run.");
}

TEST(MostlyMpi, IsNotReportedForFewRanksOrAnEmptyRun) {
  EXPECT_THAT(found_with({900, 100, 100}), IsEmpty());
  EXPECT_THAT(found_with({}), IsEmpty());
}

}  // namespace
}  // namespace megascope::advice
