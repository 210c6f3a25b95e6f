#include "analysis/hang/wait_graph.h"

#include <algorithm>

namespace megascope::analysis {
namespace {

constexpr std::uint32_t kNotSeen = 0xFFFFFFFF;

}  // namespace

WaitGraph::Node WaitGraph::add(Kind kind) {
  kinds_.push_back(kind);
  return static_cast<Node>(kinds_.size() - 1);
}

WaitGraph::Links WaitGraph::link(const std::vector<std::pair<Node, Node>>& edges,
                                 std::size_t node_count, bool is_reversed) {
  Links links;
  links.first.assign(node_count + 1, 0);
  for (const auto& [from, to] : edges) ++links.first[(is_reversed ? to : from) + 1];
  for (std::size_t i = 1; i <= node_count; ++i) links.first[i] += links.first[i - 1];
  links.to.resize(edges.size());
  std::vector<std::uint32_t> at(links.first.begin(), links.first.end() - 1);
  for (const auto& [from, to] : edges)
    links.to[at[is_reversed ? to : from]++] = is_reversed ? from : to;
  return links;
}

std::vector<WaitGraph::Node> WaitGraph::targets(Node node) const {
  return {forward_.to.begin() + forward_.first[node],
          forward_.to.begin() + forward_.first[node + 1]};
}

void WaitGraph::go_on(Node node, std::vector<Node>& queue) {
  if (can_go_on_[node]) return;
  can_go_on_[node] = true;
  queue.push_back(node);
}

void WaitGraph::solve() {
  const std::size_t count = kinds_.size();
  forward_ = link(edges_, count, false);
  backward_ = link(edges_, count, true);
  missing_.assign(count, 0);
  can_go_on_.assign(count, false);
  std::vector<Node> queue;
  for (Node node = 0; node < count; ++node) {
    missing_[node] = forward_.first[node + 1] - forward_.first[node];
    const bool is_free = kinds_[node] == Kind::kFree ||
                         (kinds_[node] == Kind::kAll && missing_[node] == 0);
    if (is_free) go_on(node, queue);
  }
  while (!queue.empty()) {
    const Node node = queue.back();
    queue.pop_back();
    for (std::uint32_t i = backward_.first[node]; i < backward_.first[node + 1]; ++i) {
      const Node waiting = backward_.to[i];
      const bool is_released = kinds_[waiting] == Kind::kAny ||
                               (kinds_[waiting] == Kind::kAll && --missing_[waiting] == 0);
      if (is_released) go_on(waiting, queue);
    }
  }
}

/// Strongly connected components of the stuck nodes, by number; kNotSeen for nodes that can
/// continue. Tarjan, without recursion.
std::vector<std::uint32_t> WaitGraph::components() const {
  const std::size_t count = kinds_.size();
  std::vector<std::uint32_t> component(count, kNotSeen);
  std::vector<std::uint32_t> order(count, kNotSeen);
  std::vector<std::uint32_t> low(count, 0);
  std::vector<std::uint32_t> next(count, 0);
  std::vector<Node> open;
  std::vector<Node> path;
  std::uint32_t seen_count = 0;
  std::uint32_t component_count = 0;
  const auto enter = [&](Node node) {
    order[node] = low[node] = seen_count++;
    next[node] = forward_.first[node];
    open.push_back(node);
    path.push_back(node);
  };
  const auto leave = [&](Node node) {
    path.pop_back();
    if (!path.empty()) low[path.back()] = std::min(low[path.back()], low[node]);
    if (low[node] != order[node]) return;
    for (Node member = kNotSeen; member != node; open.pop_back()) {
      member = open.back();
      component[member] = component_count;
    }
    ++component_count;
  };
  for (Node start = 0; start < count; ++start) {
    if (can_go_on_[start] || order[start] != kNotSeen) continue;
    enter(start);
    while (!path.empty()) {
      const Node node = path.back();
      if (next[node] == forward_.first[node + 1]) {
        leave(node);
        continue;
      }
      const Node to = forward_.to[next[node]++];
      if (can_go_on_[to]) continue;
      if (order[to] == kNotSeen)
        enter(to);
      else if (component[to] == kNotSeen)
        low[node] = std::min(low[node], order[to]);
    }
  }
  return component;
}

/// The shortest cycle through `node` in its component. from: scratch space; all kNotSeen before and
/// after.
std::vector<WaitGraph::Node> WaitGraph::cycle_through(Node node,
                                                      const std::vector<std::uint32_t>& component,
                                                      std::vector<Node>& from) const {
  std::vector<Node> queue = {node};
  std::vector<Node> cycle;
  for (std::size_t i = 0; i < queue.size() && cycle.empty(); ++i) {
    for (const Node to : targets(queue[i])) {
      if (component[to] != component[node]) continue;
      if (to == node) {
        for (Node at = queue[i]; at != node; at = from[at]) cycle.push_back(at);
        cycle.push_back(node);
        std::ranges::reverse(cycle);
        break;
      }
      if (from[to] != kNotSeen) continue;
      from[to] = queue[i];
      queue.push_back(to);
    }
  }
  for (const Node seen : queue) from[seen] = kNotSeen;
  return cycle;
}

std::vector<std::vector<WaitGraph::Node>> WaitGraph::cycles() const {
  const std::vector<std::uint32_t> component = components();
  std::vector<bool> is_done(kinds_.size(), false);  // by component
  std::vector<std::vector<Node>> found_cycles;
  std::vector<Node> from(kinds_.size(), kNotSeen);
  for (Node node = 0; node < kinds_.size(); ++node) {
    if (component[node] == kNotSeen || is_done[component[node]]) continue;
    is_done[component[node]] = true;
    std::vector<Node> cycle = cycle_through(node, component, from);
    if (!cycle.empty()) found_cycles.push_back(std::move(cycle));
  }
  return found_cycles;
}

std::vector<std::pair<WaitGraph::Node, std::size_t>> WaitGraph::most_wanted(Node limit) const {
  std::vector<std::pair<Node, std::size_t>> wanted;
  for (Node node = 0; node < limit; ++node) {
    const std::size_t count = backward_.first[node + 1] - backward_.first[node];
    if (count != 0) wanted.emplace_back(node, count);
  }
  std::ranges::stable_sort(wanted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  return wanted;
}

std::size_t WaitGraph::waiting_count(Node target, Node limit) const {
  std::vector<bool> is_seen(kinds_.size(), false);
  std::vector<Node> queue = {target};
  is_seen[target] = true;
  std::size_t found = 0;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (std::uint32_t at = backward_.first[queue[i]]; at < backward_.first[queue[i] + 1]; ++at) {
      const Node waiting = backward_.to[at];
      if (is_seen[waiting]) continue;
      is_seen[waiting] = true;
      queue.push_back(waiting);
      found += waiting < limit ? 1 : 0;
    }
  }
  return found;
}

}  // namespace megascope::analysis
