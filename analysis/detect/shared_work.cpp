#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/detect/work_judge.h"

namespace megascope::detect {
namespace {

/// Groups of one kind of shared work, as if each was a rank: what they do, and which are of one class.
struct GroupWork {
  Reduced reduced;
  Peers peers;                                       ///< only classes
  std::vector<std::vector<std::size_t>> members;     ///< by group: indices of ranks
};

/// Indices of the ranks; nothing if one of them is not judged.
std::optional<std::vector<std::size_t>> indices_of(const Reduced& reduced, const std::vector<std::int32_t>& world_ranks) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < reduced.ranks.size(); ++i) {
    if (std::find(world_ranks.begin(), world_ranks.end(), reduced.ranks[i].world_rank) != world_ranks.end()) indices.push_back(i);
  }
  return indices.size() == world_ranks.size() ? std::optional(indices) : std::nullopt;
}

const std::vector<std::int32_t>* members_of(const SharedWork& shared, std::int32_t world_rank) {
  const std::vector<std::int32_t>& ranks = shared.source->world_ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), world_rank);
  return at == ranks.end() ? nullptr : &shared.members[static_cast<std::size_t>(at - ranks.begin())];
}

/// Only groups whose members are of one class.
GroupWork read_groups(const Reduced& reduced, const Peers& peers, const SharedWork& shared, const Options& options) {
  Options own = options;
  own.steps = shared.steps;
  own.shared = nullptr;
  own.links = nullptr;
  Reduced all = reduce(*shared.source, own);
  GroupWork groups;
  groups.reduced.step_count = all.step_count;
  groups.peers.classes.resize(peers.classes.size());
  for (RankSteps& group : all.ranks) {
    const std::vector<std::int32_t>* const ranks = members_of(shared, group.world_rank);
    const auto members = ranks == nullptr ? std::nullopt : indices_of(reduced, *ranks);
    if (!members || members->empty()) continue;
    const std::size_t class_index = peers.class_of[members->front()];
    const bool is_of_one = std::all_of(members->begin(), members->end(), [&](std::size_t rank) { return peers.class_of[rank] == class_index; });
    if (!is_of_one) continue;
    groups.peers.classes[class_index].push_back(groups.reduced.ranks.size());
    groups.peers.class_of.push_back(class_index);
    groups.reduced.ranks.push_back(std::move(group));
    groups.members.push_back(*members);
  }
  return groups;
}

double sum_of(const std::vector<double>& levels) {
  double sum = 0.0;
  for (const double level : levels) sum += std::exp(level);
  return sum;
}

/// The class's level becomes that of its own and the groups' work. Returns the groups' share of it.
double add_level(const std::vector<double>& shared, std::vector<double>& level) {
  const double own = sum_of(level);
  const double others = sum_of(shared);
  for (std::size_t step = 0; step < level.size(); ++step) level[step] = std::log(std::exp(level[step]) + std::exp(shared[step]));
  return others / std::max(own + others, 1e-30);
}

void add_class(const GroupWork& groups, const WorkSeries& compared, std::size_t class_index, double share, const std::string& operation, WorkSeries& work) {
  const std::vector<std::size_t>& members = groups.peers.classes[class_index];
  const Measure measure = measure_of(compared, members);
  for (const std::size_t group : members) {
    SharedSeries series;
    series.members = groups.members[group];
    series.class_index = class_index;
    series.has_peers = members.size() > 1;
    series.excess = compared.excess[group];
    for (double& value : series.excess) value -= measure.level;
    series.noise = compared.noise[group] * measure.widened;
    series.apart = measure.apart;
    series.share = share;
    series.operation = operation;
    work.shared.push_back(std::move(series));
  }
}

}  // namespace

void add_shared_work(const Reduced& reduced, const Peers& peers, const Options& options, WorkSeries& work) {
  if (options.shared == nullptr) return;
  for (const SharedWork& shared : *options.shared) {
    const GroupWork groups = read_groups(reduced, peers, shared, options);
    if (groups.reduced.ranks.empty() || groups.reduced.step_count != reduced.step_count) continue;
    const WorkSeries compared = compare_work(groups.reduced, groups.peers);
    for (std::size_t i = 0; i < peers.classes.size(); ++i) {
      if (groups.peers.classes[i].empty()) continue;
      const double share = add_level(compared.class_level[i], work.class_level[i]);
      add_class(groups, compared, i, share, shared.operation, work);
    }
  }
}

}  // namespace megascope::detect
