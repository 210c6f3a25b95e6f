#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// Who can still go on, and who waits in a circle. A node that waits for *all* of its targets goes
/// on when each of them can, one that waits for *any* when one can. Pure; O(nodes + edges).
class WaitGraph {
 public:
  using Node = std::uint32_t;
  enum class Kind : std::uint8_t {
    kAll,   ///< without targets: nothing is missing, it goes on
    kAny,   ///< without targets: no rank can help it
    kFree,  ///< goes on by itself
    kDead,  ///< never does anything again
  };

  Node add(Kind kind);
  Kind kind(Node node) const { return kinds_[node]; }
  void set_kind(Node node, Kind kind) { kinds_[node] = kind; }
  void add_edge(Node from, Node to) { edges_.emplace_back(from, to); }
  std::size_t size() const { return kinds_.size(); }

  /// Call once, when all is added; then the rest may be asked.
  void solve();
  bool is_stuck(Node node) const { return !can_go_on_[node]; }
  /// Targets of a node, in the order added.
  std::vector<Node> targets(Node node) const;
  /// The shortest circle through one node of each group of stuck nodes that wait for each other:
  /// nodes in the order of waiting, beginning with the lowest. Ascending by that one.
  std::vector<std::vector<Node>> cycles() const;
  /// Nodes below `limit` that others wait for, and how many do directly; the most first.
  std::vector<std::pair<Node, std::size_t>> most_wanted(Node limit) const;
  /// How many nodes below `limit` wait for `target`, directly or not.
  std::size_t waiting_count(Node target, Node limit) const;

 private:
  struct Links {
    std::vector<std::uint32_t> first;  ///< by node, and one more
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
  std::vector<std::uint32_t> missing_;  ///< kAll: targets that cannot go on yet
  std::vector<bool> can_go_on_;
};

}  // namespace megascope::analysis
