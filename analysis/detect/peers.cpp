#include "analysis/detect/peers.h"

#include "core/record/definitions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace megascope::detect {
namespace {

constexpr std::uint64_t kOftenAStep = 6;  ///< collectives a step on a communicator from which on
                                          ///< its members are assumed to work on one input
constexpr std::size_t kMinClass = 3;
constexpr std::int32_t kNoDepth = -1;

/// Disjoint sets of ranks (union-find).
class Sets {
 public:
  explicit Sets(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t find(std::size_t rank) {
    while (parent_[rank] != rank) rank = parent_[rank] = parent_[parent_[rank]];
    return rank;
  }
  void join(std::size_t a, std::size_t b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

/// Groups indices with equal keys; groups are in order of first occurrence.
template <class Key>
std::vector<std::vector<std::size_t>> grouped(const std::vector<Key>& keys) {
  std::map<Key, std::size_t> index;
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t rank = 0; rank < keys.size(); ++rank) {
    const auto [found, is_new] = index.emplace(keys[rank], groups.size());
    if (is_new) groups.emplace_back();
    groups[found->second].push_back(rank);
  }
  return groups;
}

std::vector<std::int32_t> index_by_world_rank(const Reduced& reduced) {
  std::int32_t last = 0;
  for (const RankSteps& rank : reduced.ranks) last = std::max(last, rank.world_rank);
  std::vector<std::int32_t> index(static_cast<std::size_t>(last) + 1, -1);
  for (std::size_t i = 0; i < reduced.ranks.size(); ++i)
    index[static_cast<std::size_t>(reduced.ranks[i].world_rank)] = static_cast<std::int32_t>(i);
  return index;
}

/// Returns for each rank through how many ranks the first message of its step has passed; kNoDepth
/// if that is cyclic or not known.
std::vector<std::int32_t> depths_of(const Reduced& reduced) {
  const std::vector<std::int32_t> index = index_by_world_rank(reduced);
  std::vector<std::int32_t> depths;
  for (const RankSteps& rank : reduced.ranks) {
    std::int32_t depth = rank.has_messages ? 0 : kNoDepth;
    std::int32_t from = rank.first_source;
    while (depth != kNoDepth && from != kNoPeer) {
      const bool is_known = static_cast<std::size_t>(from) < index.size() &&
                            index[static_cast<std::size_t>(from)] >= 0;
      depth = is_known && depth < static_cast<std::int32_t>(reduced.ranks.size()) ? depth + 1
                                                                                  : kNoDepth;
      if (is_known)
        from = reduced.ranks[static_cast<std::size_t>(index[static_cast<std::size_t>(from)])]
                   .first_source;
    }
    depths.push_back(depth);
  }
  return depths;
}

/// Returns whether the ranks form the stages of a pipeline: each rank has a depth, there are two or
/// more depths, and no message stays within one.
bool is_pipeline(const Reduced& reduced, const std::vector<std::int32_t>& depths) {
  if (depths.empty() || reduced.links.empty()) return false;
  const auto [low, high] = std::minmax_element(depths.begin(), depths.end());
  if (*low != 0 || *high < 1) return false;
  return std::none_of(reduced.links.begin(), reduced.links.end(),
                      [&](const Link& link) { return depths[link.from] == depths[link.to]; });
}

/// Returns the master, if there is one: the rank at one end of every message, with three or more
/// different ranks at the other ends. Its work is not comparable with that of others.
std::optional<std::size_t> hub_of(const Reduced& reduced) {
  if (reduced.links.empty()) return std::nullopt;
  for (const std::size_t rank : {reduced.links[0].from, reduced.links[0].to}) {
    std::set<std::size_t> others;
    const bool is_end_of_all = std::ranges::all_of(reduced.links, [&](const Link& link) {
      others.insert(link.from == rank ? link.to : link.from);
      return link.from == rank || link.to == rank;
    });
    if (is_end_of_all && others.size() >= kMinClass) return rank;
  }
  return std::nullopt;
}

/// Returns two classes: `rank`, and all others.
std::vector<std::vector<std::size_t>> apart(std::size_t rank, std::size_t count) {
  std::vector<std::vector<std::size_t>> classes{{rank}, {}};
  for (std::size_t other = 0; other < count; ++other) {
    if (other != rank) classes[1].push_back(other);
  }
  return classes;
}

void find_classes(const Reduced& reduced, const GroupIndices* groups, Peers& peers) {
  const std::size_t count = reduced.ranks.size();
  const std::vector<std::int32_t> depths = depths_of(reduced);
  peers.is_pipeline = is_pipeline(reduced, depths);
  if (groups != nullptr && groups->count("pp") != 0 && groups->at("pp").size() == count) {
    peers.classes = grouped(groups->at("pp"));
    peers.is_pipeline = peers.classes.size() > 1;
    std::sort(peers.classes.begin(), peers.classes.end(), [&](const auto& a, const auto& b) {
      return groups->at("pp")[a[0]] < groups->at("pp")[b[0]];
    });
    return;
  }
  peers.hub = hub_of(reduced);
  if (peers.hub) {
    peers.is_pipeline = false;
    peers.classes = apart(*peers.hub, count);
    return;
  }
  if (peers.is_pipeline) {
    peers.classes = grouped(depths);
    std::sort(peers.classes.begin(), peers.classes.end(),
              [&](const auto& a, const auto& b) { return depths[a[0]] < depths[b[0]]; });
    return;
  }
  std::vector<std::uint64_t> keys;
  for (const RankSteps& rank : reduced.ranks)
    keys.push_back(rank.sequence_share > 0.5 ? rank.sequence : rank.vocabulary);
  peers.classes = grouped(keys);
  const bool is_thin = std::any_of(peers.classes.begin(), peers.classes.end(),
                                   [](const auto& one) { return one.size() < kMinClass; });
  if (!is_thin || count == 0) return;
  peers.classes.assign(1, std::vector<std::size_t>(count));
  std::iota(peers.classes[0].begin(), peers.classes[0].end(), std::size_t{0});
}

void find_replicas(const Reduced& reduced, const RecordSource& source, const GroupIndices* groups,
                   Peers& peers) {
  const std::size_t count = reduced.ranks.size();
  if (groups != nullptr && groups->count("dp") != 0 && groups->at("dp").size() == count) {
    peers.replicas = grouped(groups->at("dp"));
  } else {
    const std::vector<std::int32_t> index = index_by_world_rank(reduced);
    Sets sets(count);
    for (const Link& link : reduced.links) sets.join(link.from, link.to);
    for (std::size_t i = 0; i < count; ++i) {
      const ProcessDefinitions& process = source.process(reduced.ranks[i].world_rank);
      for (std::size_t id = 0; id < process.comms.size(); ++id) {
        if (reduced.ranks[i].comm_use[id] < kOftenAStep * reduced.ranks[i].steps.size()) continue;
        for (const std::int32_t member : expand(process.comms[id].members)) {
          if (static_cast<std::size_t>(member) < index.size() &&
              index[static_cast<std::size_t>(member)] >= 0) {
            sets.join(i, static_cast<std::size_t>(index[static_cast<std::size_t>(member)]));
          }
        }
      }
    }
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < count; ++i) roots.push_back(sets.find(i));
    peers.replicas = grouped(roots);
  }
  const bool are_equal = std::all_of(
      peers.replicas.begin(), peers.replicas.end(),
      [&](const auto& one) { return one.size() == peers.replicas[0].size(); });
  if (peers.replicas.size() < 2 || !are_equal) peers.replicas.clear();
}

}  // namespace

Peers find_peers(const Reduced& reduced, const RecordSource& source, const GroupIndices* groups) {
  Peers peers;
  find_classes(reduced, groups, peers);
  find_replicas(reduced, source, groups, peers);
  peers.class_of.resize(reduced.ranks.size());
  for (std::size_t i = 0; i < peers.classes.size(); ++i) {
    for (const std::size_t rank : peers.classes[i]) peers.class_of[rank] = i;
  }
  std::vector<std::string> names;
  for (const RankSteps& rank : reduced.ranks) names.push_back(rank.host);
  peers.hosts = grouped(names);
  peers.host_of.resize(reduced.ranks.size());
  for (std::size_t i = 0; i < peers.hosts.size(); ++i) {
    peers.host_names.push_back(names[peers.hosts[i][0]]);
    for (const std::size_t rank : peers.hosts[i]) peers.host_of[rank] = i;
  }
  return peers;
}

}  // namespace megascope::detect
