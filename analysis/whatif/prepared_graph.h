#pragma once

#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/replay.h"

#include <optional>
#include <string>
#include <vector>

namespace megascope::whatif {

/// A graph and what all replays of it have in common, found once: the order of its operations, and
/// what each usually takes.
class PreparedGraph {
 public:
  /// graph: outlives the object. Waits that go round in a circle are cut in it, and its limitations
  /// say so.
  explicit PreparedGraph(OperationGraph& graph);

  /// False: the graph has no operations, or there is nothing usual about them; limitations() says
  /// which.
  bool can_be_replayed() const { return replay_.has_value(); }
  const OperationGraph& graph() const { return graph_; }
  const std::vector<std::string>& limitations() const { return limitations_; }
  /// These three only where can_be_replayed().
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
