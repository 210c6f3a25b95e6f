#include "core/record/shared_cores.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>

namespace megascope {
namespace {

using Cores = std::vector<std::uint32_t>;
using Ranks = std::vector<const RankCpus*>;

Cores merged(const Cores& a, const Cores& b) {
  Cores both;
  std::ranges::set_union(a, b, std::back_inserter(both));
  return both;
}

bool intersect(const Cores& a, const Cores& b) {
  Cores common;
  std::ranges::set_intersection(a, b, std::back_inserter(common));
  return !common.empty();
}

/// Returns the connected sets of cores: ranks with a common core are connected.
std::vector<Cores> connected_sets(const Ranks& ranks) {
  std::vector<Cores> sets;
  for (const RankCpus* rank : ranks) {
    Cores all = rank->cpus.cores;
    std::erase_if(sets, [&all](const Cores& set) {
      if (!intersect(set, all)) return false;
      all = merged(set, all);
      return true;
    });
    sets.push_back(std::move(all));
  }
  return sets;
}

/// Returns the number of processors of the set's cores: that of a rank that may use all of them,
/// else estimated from the processors for each core of the ranks.
std::uint32_t processors_of(const Ranks& ranks, std::size_t cores) {
  std::uint32_t a_core = 1;
  for (const RankCpus* rank : ranks) {
    a_core = std::max(a_core,
                      rank->cpus.processors / static_cast<std::uint32_t>(rank->cpus.cores.size()));
  }
  return a_core * static_cast<std::uint32_t>(cores);
}

SharedCores shared_by(const Ranks& ranks, const Cores& cores) {
  SharedCores shared{.host = ranks.front()->host,
                     .ranks = {},
                     .cores = static_cast<std::uint32_t>(cores.size()),
                     .processors = processors_of(ranks, cores.size())};
  for (const RankCpus* rank : ranks) shared.ranks.push_back(rank->world_rank);
  std::ranges::sort(shared.ranks);
  return shared;
}

/// Returns the ranks that may use these cores only.
Ranks ranks_within(const Ranks& ranks, const Cores& cores) {
  Ranks within;
  for (const RankCpus* rank : ranks) {
    if (std::ranges::includes(cores, rank->cpus.cores)) within.push_back(rank);
  }
  return within;
}

/// Adds the largest sets first; sets contained in one of them are omitted.
void add_by_cores(const Ranks& ranks, std::vector<SharedCores>& all) {
  std::vector<Cores> candidates = connected_sets(ranks);
  for (const RankCpus* rank : ranks) candidates.push_back(rank->cpus.cores);
  std::ranges::sort(candidates, [](const Cores& a, const Cores& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  candidates.erase(std::unique(candidates.begin(), candidates.end()), candidates.end());
  std::vector<Cores> taken;
  for (const Cores& cores : candidates) {
    const bool is_within = std::ranges::any_of(
        taken, [&](const Cores& other) { return std::ranges::includes(other, cores); });
    const Ranks within = is_within ? Ranks() : ranks_within(ranks, cores);
    if (within.size() <= cores.size()) continue;
    all.push_back(shared_by(within, cores));
    taken.push_back(cores);
  }
}

/// Adds control groups that several ranks of one node share.
void add_by_grant(const Ranks& ranks, std::vector<SharedCores>& all) {
  std::map<std::pair<std::string, std::uint32_t>, Ranks> groups;
  for (const RankCpus* rank : ranks) {
    if (rank->cpus.granted_milli != 0)
      groups[{rank->cpus.group, rank->cpus.granted_milli}].push_back(rank);
  }
  for (const auto& [group, members] : groups) {
    Cores cores;
    for (const RankCpus* rank : members) cores = merged(cores, rank->cpus.cores);
    const double granted = members.front()->cpus.granted();
    if (granted >= static_cast<double>(std::min(members.size(), cores.size()))) continue;
    SharedCores shared = shared_by(members, cores);
    shared.granted = granted;
    std::erase_if(all, [&](const SharedCores& other) {
      return std::ranges::includes(shared.ranks, other.ranks);
    });
    all.push_back(std::move(shared));
  }
}

}  // namespace

std::vector<SharedCores> shared_cores(std::span<const RankCpus> ranks) {
  std::map<std::string, Ranks> by_host;
  for (const RankCpus& rank : ranks) {
    if (rank.cpus.is_known()) by_host[rank.host].push_back(&rank);
  }
  std::vector<SharedCores> all;
  for (const auto& [host, members] : by_host) {
    std::vector<SharedCores> here;
    add_by_cores(members, here);
    add_by_grant(members, here);
    std::ranges::sort(here, {}, [](const SharedCores& shared) { return shared.ranks.front(); });
    all.insert(all.end(), here.begin(), here.end());
  }
  return all;
}

std::string to_text(const SharedCores& shared) {
  const std::string count = std::to_string(shared.ranks.size()) +
                            (shared.ranks.size() == 1 ? " rank has " : " ranks share ");
  std::string what = std::to_string(shared.cores) + (shared.cores == 1 ? " core" : " cores");
  if (shared.processors > shared.cores)
    what += " (" + std::to_string(shared.processors) + " hyper-threads)";
  if (shared.granted > 0) {
    char number[32];
    std::snprintf(number, sizeof number, "%.3g", shared.granted);
    what = std::string(number) + " processors that the control group grants";
  }
  return count + what + (shared.host.empty() ? "" : " on node " + shared.host);
}

}  // namespace megascope
