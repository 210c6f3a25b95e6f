#include "analysis/hang/wait_graph.h"

#include <gmock/gmock.h>

namespace megascope::analysis {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = WaitGraph::Kind;
using Node = WaitGraph::Node;

WaitGraph make(const std::vector<Kind>& kinds, const std::vector<std::pair<Node, Node>>& edges) {
  WaitGraph graph;
  for (const Kind kind : kinds) graph.add(kind);
  for (const auto& [from, to] : edges) graph.add_edge(from, to);
  graph.solve();
  return graph;
}

std::vector<bool> stuck(const WaitGraph& graph) {
  std::vector<bool> result;
  for (Node node = 0; node < graph.size(); ++node) result.push_back(graph.is_stuck(node));
  return result;
}

TEST(WaitGraph, TwoThatWaitForEachOtherAreACycle) {
  const WaitGraph graph = make({Kind::kAll, Kind::kAll, Kind::kFree}, {{0, 1}, {1, 0}});
  EXPECT_THAT(stuck(graph), ElementsAre(true, true, false));
  EXPECT_THAT(graph.cycles(), ElementsAre(ElementsAre(0, 1)));
}

TEST(WaitGraph, OneThatWaitsForItselfIsACycle) {
  const WaitGraph graph = make({Kind::kAll}, {{0, 0}});
  EXPECT_THAT(graph.cycles(), ElementsAre(ElementsAre(0)));
}

TEST(WaitGraph, AnyGoesOnWithOneAllOnlyWithEach) {
  const std::vector<std::pair<Node, Node>> edges = {{0, 1}, {0, 2}, {2, 0}};
  EXPECT_THAT(stuck(make({Kind::kAny, Kind::kFree, Kind::kAll}, edges)),
              ElementsAre(false, false, false));
  EXPECT_THAT(stuck(make({Kind::kAll, Kind::kFree, Kind::kAll}, edges)),
              ElementsAre(true, false, true));
}

TEST(WaitGraph, WithoutTargetsAllGoesOnAndAnyDoesNot) {
  EXPECT_THAT(stuck(make({Kind::kAll, Kind::kAny}, {})), ElementsAre(false, true));
}

TEST(WaitGraph, WaitingForTheDeadIsStuckWithoutACycle) {
  const WaitGraph graph = make({Kind::kAll, Kind::kAll, Kind::kDead}, {{0, 1}, {1, 2}});
  EXPECT_THAT(stuck(graph), ElementsAre(true, true, true));
  EXPECT_THAT(graph.cycles(), IsEmpty());
  EXPECT_THAT(graph.most_wanted(3), ElementsAre(std::pair(1U, 1U), std::pair(2U, 1U)));
  EXPECT_EQ(graph.waiting_count(2, 3), 2U);
}

TEST(WaitGraph, TheShortestCycleOfEachGroupIsShown) {
  // 0 → 1 → 2 → 0 and 1 → 0; apart from them 3 ⇄ 4, for which 5 waits.
  const WaitGraph graph = make(std::vector<Kind>(6, Kind::kAll),
                               {{0, 1}, {1, 2}, {2, 0}, {1, 0}, {3, 4}, {4, 3}, {5, 3}});
  EXPECT_THAT(graph.cycles(), ElementsAre(ElementsAre(0, 1), ElementsAre(3, 4)));
}

TEST(WaitGraph, ACycleThatSomebodyCanBreakIsNone) {
  const WaitGraph graph = make({Kind::kAll, Kind::kAny, Kind::kFree}, {{0, 1}, {1, 0}, {1, 2}});
  EXPECT_THAT(stuck(graph), ElementsAre(false, false, false));
  EXPECT_THAT(graph.cycles(), IsEmpty());
}

TEST(WaitGraph, TenThousandInARingTakeNoRecursion) {
  constexpr Node kCount = 10'000;
  WaitGraph graph;
  for (Node node = 0; node < kCount; ++node) graph.add(Kind::kAll);
  for (Node node = 0; node < kCount; ++node) graph.add_edge(node, (node + 1) % kCount);
  graph.solve();
  const auto found_cycles = graph.cycles();
  ASSERT_EQ(found_cycles.size(), 1U);
  EXPECT_EQ(found_cycles.front().size(), kCount);
  EXPECT_EQ(graph.waiting_count(0, kCount), kCount - 1);
}

}  // namespace
}  // namespace megascope::analysis
