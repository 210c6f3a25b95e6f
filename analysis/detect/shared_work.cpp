#include "analysis/detect/statistics.h"
#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace megascope::detect {
namespace {

/// The groups of one kind of shared work, represented as if each were a rank: their work and their
/// classes.
struct GroupWork {
  Reduced reduced;
  Peers peers;                                    ///< only classes
  std::vector<std::vector<std::size_t>> members;  ///< by group: indices of ranks
};

/// Returns the indices of the ranks in reduced.ranks; nothing if one of them is not judged.
std::optional<std::vector<std::size_t>> indices_of(const Reduced& reduced,
                                                   const std::vector<std::int32_t>& world_ranks) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < reduced.ranks.size(); ++i) {
    if (std::find(world_ranks.begin(), world_ranks.end(), reduced.ranks[i].world_rank) !=
        world_ranks.end())
      indices.push_back(i);
  }
  return indices.size() == world_ranks.size() ? std::optional(indices) : std::nullopt;
}

const std::vector<std::int32_t>* members_of(const SharedWork& shared, std::int32_t world_rank) {
  const std::vector<std::int32_t>& ranks = shared.source->world_ranks();
  const auto at = std::find(ranks.begin(), ranks.end(), world_rank);
  return at == ranks.end() ? nullptr
                           : &shared.members[static_cast<std::size_t>(at - ranks.begin())];
}

/// Reads the work of the groups whose members are all of one class; other groups are omitted.
GroupWork read_groups(const Reduced& reduced, const Peers& peers, const SharedWork& shared,
                      const Options& options) {
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
    const bool is_of_one = std::all_of(members->begin(), members->end(), [&](std::size_t rank) {
      return peers.class_of[rank] == class_index;
    });
    if (!is_of_one) continue;
    groups.peers.classes[class_index].push_back(groups.reduced.ranks.size());
    groups.peers.class_of.push_back(class_index);
    groups.reduced.ranks.push_back(std::move(group));
    groups.members.push_back(*members);
  }
  return groups;
}

/// Returns the work of a class in each step, in ns: the lower third of its members.
std::vector<double> work_of_class(const Reduced& reduced, const std::vector<std::size_t>& members) {
  std::vector<double> work;
  std::vector<double> values;
  for (std::size_t step = 0; step < reduced.step_count; ++step) {
    values.clear();
    for (const std::size_t rank : members) values.push_back(reduced.ranks[rank].work_ns(step));
    work.push_back(quantile(values, kUsual));
  }
  return work;
}

void add_class(const GroupWork& groups, const WorkSeries& compared, std::size_t class_index,
               double work_ns, const std::string& operation, WorkSeries& work) {
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
    series.share = work_ns;  // in ns for now; add_shared_work() divides it by the work of the class
    series.operation = operation;
    work.shared.push_back(std::move(series));
  }
}

}  // namespace

void add_shared_work(const Reduced& reduced, const Peers& peers, const Options& options,
                     WorkSeries& work) {
  if (options.shared == nullptr || options.shared->empty()) return;
  std::vector<std::vector<double>> class_work;
  for (const auto& members : peers.classes) class_work.push_back(work_of_class(reduced, members));
  for (const SharedWork& shared : *options.shared) {
    const GroupWork groups = read_groups(reduced, peers, shared, options);
    if (groups.reduced.ranks.empty() || groups.reduced.step_count != reduced.step_count) continue;
    const WorkSeries compared = compare_work(groups.reduced, groups.peers);
    for (std::size_t i = 0; i < peers.classes.size(); ++i) {
      if (groups.peers.classes[i].empty()) continue;
      const std::vector<double> more = work_of_class(groups.reduced, groups.peers.classes[i]);
      for (std::size_t step = 0; step < more.size(); ++step) class_work[i][step] += more[step];
      add_class(groups, compared, i, std::accumulate(more.begin(), more.end(), 0.0),
                shared.operation, work);
    }
  }
  for (SharedSeries& series : work.shared) {
    const std::vector<double>& all = class_work[series.class_index];
    series.share /= std::max(std::accumulate(all.begin(), all.end(), 0.0), 1.0);
  }
  for (std::size_t i = 0; i < class_work.size(); ++i) {
    for (std::size_t step = 0; step < class_work[i].size(); ++step)
      work.class_level[i][step] = std::log(std::max(class_work[i][step], 1.0));
  }
}

}  // namespace megascope::detect
