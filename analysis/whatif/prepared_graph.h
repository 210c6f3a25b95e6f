#pragma once

#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/replay.h"

#include <optional>
#include <string>
#include <vector>

namespace megascope::whatif {

/// A graph with the data that all its replays share: the order of its operations, and their typical
/// durations. Computed once, by the constructor.
class PreparedGraph {
 public:
  /// graph: outlives the object. Cyclic dependencies are removed from it, and a sentence in its
  /// limitations reports their number.
  explicit PreparedGraph(OperationGraph& graph);

  /// Returns whether the graph can be replayed. Returns false in two cases: it has no operations;
  /// or more than a quarter of the total duration is in types with fewer than four operations,
  /// which are too few for a typical duration. limitations() then gives the reason.
  bool can_be_replayed() const { return replay_.has_value(); }
  const OperationGraph& graph() const { return graph_; }
  const std::vector<std::string>& limitations() const { return limitations_; }
  /// The following three functions may be called only if can_be_replayed() is true.
  const Replay& replay() const { return *replay_; }
  const std::vector<float>& usual_ns() const { return usual_ns_; }      ///< by type
  const std::vector<float>& without_ns() const { return without_ns_; }  ///< by operation

 private:
  OperationGraph& graph_;
  std::vector<std::string> limitations_;  ///< sentences
  std::optional<Replay> replay_;
  std::vector<float> usual_ns_;
  std::vector<float> without_ns_;
};

}  // namespace megascope::whatif
