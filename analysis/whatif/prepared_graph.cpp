#include "analysis/whatif/prepared_graph.h"

#include "analysis/whatif/usual_time.h"

#include <algorithm>

namespace megascope::whatif {
namespace {

constexpr double kMaxWithoutPeers = 0.25;

/// Returns the share of time in operations whose type has fewer than kMinSeen instances: too few
/// for a typical duration.
double share_without_peers(const OperationGraph& graph) {
  constexpr std::size_t kMinSeen = 4;
  std::vector<std::size_t> seen(graph.types.size());
  for (const Operation& operation : graph.operations) ++seen[operation.type];
  double all_ns = 0.0;
  double seldom_ns = 0.0;
  for (const Operation& operation : graph.operations) {
    const double duration_ns = std::max(0.0, static_cast<double>(operation.duration_ns));
    all_ns += duration_ns;
    seldom_ns += seen[operation.type] < kMinSeen ? duration_ns : 0.0;
  }
  return all_ns > 0.0 ? seldom_ns / all_ns : 0.0;
}

}  // namespace

PreparedGraph::PreparedGraph(OperationGraph& graph)
    : graph_(graph), limitations_(graph.limitations) {
  if (graph.operations.empty()) return;
  if (share_without_peers(graph) > kMaxWithoutPeers) {
    limitations_.emplace_back(
        "nothing was replayed: the steps differ too much to determine the usual time of their "
        "parts");
    return;
  }
  replay_.emplace(graph);
  if (replay_->cut_count() != 0) {  // and are no longer in the graph
    graph.limitations.push_back(std::to_string(replay_->cut_count()) +
                                " waits formed cycles and were removed");
    limitations_ = graph.limitations;
  }
  usual_ns_ = usual_durations_ns(graph);
  without_ns_ = durations_without_slowness_ns(graph, usual_ns_);
}

}  // namespace megascope::whatif
