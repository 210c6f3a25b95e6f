#include "analysis/whatif/what_if.h"

#include <gtest/gtest.h>

/// What causes cost that were asked for, without the other readings, and where they are many.
namespace megascope::whatif {
namespace {

/// A graph of five steps in which the ranks work for these times and then synchronise.
OperationGraph sync_graph(const std::vector<float>& work_ns) {
  OperationGraph graph;
  graph.names = {"work", "allreduce"};
  graph.types = {{0, true}, {1, false}};
  graph.group_begin = {0};
  std::vector<OperationIndex> last(work_ns.size(), kNone);
  for (std::uint32_t rank = 0; rank < work_ns.size(); ++rank)
    graph.world_ranks.push_back(static_cast<std::int32_t>(rank));
  for (std::uint32_t step = 0; step < 5; ++step) {
    graph.step_numbers.push_back(step);
    for (std::uint32_t rank = 0; rank < work_ns.size(); ++rank) {
      const auto work = static_cast<OperationIndex>(graph.operations.size());
      graph.operations.push_back(
          {.before = last[rank], .type = 0, .group = kNone, .duration_ns = work_ns[rank]});
      graph.operations.push_back({.before = work, .type = 1, .group = step, .duration_ns = 0});
      last[rank] = work + 1;
      graph.starters.push_back(work + 1);
      graph.step_of.insert(graph.step_of.end(), {step, step});
      graph.rank_of.insert(graph.rank_of.end(), {rank, rank});
    }
    graph.group_begin.push_back(static_cast<std::uint32_t>(graph.starters.size()));
  }
  return graph;
}

TEST(Costs, CostsAreTheSameWhereOnlyTheyAreAskedFor) {
  OperationGraph graph = sync_graph({200, 150, 100, 100, 100, 100, 100, 100, 100, 100});
  const PreparedGraph prepared(graph);
  WhatIfOptions options;
  options.asked = {{.ranks = {0}, .links = {}, .factor = 2.0, .steps = graph.step_numbers},
                   {.ranks = {1}, .links = {}, .factor = 1.5, .steps = graph.step_numbers}};
  const WhatIf whole = what_if(prepared, {{}}, options);
  options.max_scenarios = 0;
  options.has_costs_only = true;
  const WhatIf brief = what_if(prepared, {{}}, options);
  ASSERT_EQ(brief.asked.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(brief.asked[i].cost, whole.asked[i].cost);
    EXPECT_EQ(brief.asked[i].gain, whole.asked[i].gain);
  }
  EXPECT_EQ(brief.loss.total, whole.loss.total);
  EXPECT_EQ(brief.loss.explained, whole.loss.explained);
  EXPECT_TRUE(brief.scenarios.empty());
}

TEST(Costs, SplitsTheLossOverMoreCausesThanAreReplayedAtOnce) {
  // Rank i takes 100 + i ns; without what is slow in ranks 5 to 39 rank 4 is the last.
  constexpr std::int32_t kRanks = 40;
  std::vector<float> work_ns;
  for (int rank = 0; rank < kRanks; ++rank) work_ns.push_back(100.0F + static_cast<float>(rank));
  OperationGraph graph = sync_graph(work_ns);
  WhatIfOptions options;
  for (std::int32_t rank = 5; rank < kRanks; ++rank) {
    options.asked.push_back({.ranks = {rank},
                             .links = {},
                             .factor = (100.0 + rank) / 100.0,
                             .steps = graph.step_numbers});
  }
  const WhatIf result = what_if(graph, {}, options);
  ASSERT_EQ(result.asked.size(), 35u);
  EXPECT_NEAR(result.loss.explained, 1.0 - 104.0 / 139.0, 1e-6);
  double sum = 0.0;
  for (const Scenario& one : result.asked) sum += one.cost;
  EXPECT_NEAR(sum, result.loss.explained, 1e-9);
  EXPECT_NEAR(result.asked.back().gain, 139.0 / 138.0, 1e-6) << "then rank 38 is the last";
}

}  // namespace
}  // namespace megascope::whatif
