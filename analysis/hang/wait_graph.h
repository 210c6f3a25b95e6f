#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// A wait-for graph (AND-OR model). Determines which nodes can continue and which nodes form
/// cycles. The edges of a node lead to its targets, that is, the nodes that it waits for. Building
/// and solve(): O(nodes + edges). One thread at a time.
class WaitGraph {
 public:
  using Node = std::uint32_t;
  enum class Kind : std::uint8_t {
    kAll,   ///< continues if all of its targets can; without targets it can continue
    kAny,   ///< continues if at least one of its targets can; without targets it is stuck
    kFree,  ///< can always continue
    kDead,  ///< can never continue
  };

  Node add(Kind kind);
  Kind kind(Node node) const { return kinds_[node]; }
  void set_kind(Node node, Kind kind) { kinds_[node] = kind; }
  void add_edge(Node from, Node to) { edges_.emplace_back(from, to); }
  std::size_t size() const { return kinds_.size(); }

  /// Determines which nodes can continue. Call once, after all nodes and edges are added and before
  /// any function below.
  void solve();
  bool is_stuck(Node node) const { return !can_go_on_[node]; }
  /// Targets of a node, in the order added.
  std::vector<Node> targets(Node node) const;
  /// Returns one cycle for each strongly connected component of stuck nodes: the shortest cycle
  /// through the lowest node of the component. A cycle starts with this node, and each node waits
  /// for the next. Cycles are in ascending order of their first node.
  std::vector<std::vector<Node>> cycles() const;
  /// Returns the nodes below `limit` that other nodes wait for, each with the number of nodes that
  /// wait directly for it; in descending order of this number.
  std::vector<std::pair<Node, std::size_t>> most_wanted(Node limit) const;
  /// Returns how many nodes below `limit` wait for `target`, directly or through other nodes.
  /// O(nodes + edges).
  std::size_t waiting_count(Node target, Node limit) const;

 private:
  struct Links {
    std::vector<std::uint32_t>
        first;  ///< by node: index of its first link in `to`; one more entry at the end
    std::vector<Node> to;
  };
  static Links link(const std::vector<std::pair<Node, Node>>& edges, std::size_t node_count,
                    bool is_reversed);
  void go_on(Node node, std::vector<Node>& queue);
  std::vector<std::uint32_t> components() const;
  std::vector<Node> cycle_through(Node node, const std::vector<std::uint32_t>& component,
                                  std::vector<Node>& from) const;

  std::vector<Kind> kinds_;
  std::vector<std::pair<Node, Node>> edges_;
  Links forward_;
  Links backward_;
  std::vector<std::uint32_t> missing_;  ///< kAll: number of targets not known to continue
  std::vector<bool> can_go_on_;
};

}  // namespace megascope::analysis
