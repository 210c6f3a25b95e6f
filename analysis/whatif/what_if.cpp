#include "analysis/whatif/what_if.h"

#include "analysis/whatif/player.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace megascope::whatif {
namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double ratio(double time_ns, double other_ns) {
  return time_ns > 0 && other_ns > 0 ? time_ns / other_ns : 1.0;
}

constexpr double kMostWithoutPeers = 0.25;

/// Of the time of all operations: those of types that were seen so seldom that there is nothing
/// usual about them.
double share_without_peers(const OperationGraph& graph) {
  constexpr std::size_t kLeastSeen = 4;
  std::vector<std::size_t> seen(graph.types.size());
  for (const Operation& operation : graph.operations) ++seen[operation.type];
  double all_ns = 0.0;
  double seldom_ns = 0.0;
  for (const Operation& operation : graph.operations) {
    const double duration_ns = std::max(0.0, static_cast<double>(operation.duration_ns));
    all_ns += duration_ns;
    seldom_ns += seen[operation.type] < kLeastSeen ? duration_ns : 0.0;
  }
  return all_ns > 0.0 ? seldom_ns / all_ns : 0.0;
}

Subject subject_of(Scenario::Kind kind, std::string name) {
  Subject subject;
  subject.scenario.kind = kind;
  subject.scenario.name = std::move(name);
  return subject;
}

std::vector<bool> only(std::size_t index, std::size_t count) {
  std::vector<bool> is_in(count);
  is_in[index] = true;
  return is_in;
}

void add_ranks(const OperationGraph& graph, const Player& player, std::size_t most,
               std::vector<Subject>& subjects) {
  const std::size_t count = graph.world_ranks.size();
  for (const std::size_t rank : player.furthest(
           count, most, [&graph](std::size_t i) { return std::size_t{graph.rank_of[i]}; })) {
    Subject subject = subject_of(Scenario::Kind::kRank,
                                 "rank " + std::to_string(graph.world_ranks[rank]));
    subject.ranks = only(rank, count);
    subjects.push_back(std::move(subject));
  }
}

void add_operations(const OperationGraph& graph, const Player& player, std::size_t most,
                    std::vector<Subject>& subjects) {
  const std::size_t count = graph.names.size();
  const auto name_of = [&graph](std::size_t i) {
    return std::size_t{graph.types[graph.operations[i].type].name};
  };
  for (const std::size_t name : player.furthest(count, most, name_of)) {
    Subject subject = subject_of(Scenario::Kind::kOperation, graph.names[name]);
    subject.names = only(name, count);
    subjects.push_back(std::move(subject));
  }
}

/// The groups of one dimension, by name: whose each rank is.
struct Dimension {
  std::vector<std::string> names;
  std::vector<std::size_t> group_of;  ///< by rank; 0: of none
};

std::map<std::string, Dimension> dimensions_of(
    const std::vector<std::vector<std::string>>& groups) {
  std::map<std::string, Dimension> dimensions;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    for (const std::string& name : groups[rank]) {
      Dimension& dimension = dimensions
                                 .try_emplace(name.substr(0, name.find(' ')), Dimension{{""}, {}})
                                 .first->second;
      dimension.group_of.resize(groups.size());
      const auto known = std::find(dimension.names.begin(), dimension.names.end(), name);
      dimension.group_of[rank] = static_cast<std::size_t>(known - dimension.names.begin());
      if (known == dimension.names.end()) dimension.names.push_back(name);
    }
  }
  return dimensions;
}

void add_groups(const OperationGraph& graph, const Player& player,
                const std::vector<std::vector<std::string>>& groups, std::size_t most,
                std::vector<Subject>& subjects) {
  for (const auto& entry : dimensions_of(groups)) {
    const Dimension& dimension = entry.second;
    const auto number_of = [&](std::size_t i) { return dimension.group_of[graph.rank_of[i]]; };
    for (const std::size_t group : player.furthest(dimension.names.size(), most + 1, number_of)) {
      Subject subject = subject_of(Scenario::Kind::kGroup, dimension.names[group]);
      for (const std::size_t of_rank : dimension.group_of)
        subject.ranks.push_back(of_rank == group);
      const bool is_all = std::find(subject.ranks.begin(), subject.ranks.end(), false) ==
                          subject.ranks.end();
      if (group != 0 && !is_all)
        subjects.push_back(std::move(subject));  // neither of none nor the whole job
    }
  }
}

std::uint32_t index_of(const OperationGraph& graph, std::int32_t world_rank) {
  const auto at = std::find(graph.world_ranks.begin(), graph.world_ranks.end(), world_rank);
  return static_cast<std::uint32_t>(at - graph.world_ranks.begin());
}

void add_asked(const OperationGraph& graph, const std::vector<Asked>& asked,
               std::vector<Subject>& subjects) {
  for (const Asked& one : asked) {
    Subject subject = subject_of(Scenario::Kind::kAsked, {});
    subject.ranks.resize(graph.world_ranks.size());
    for (std::size_t i = 0; i < subject.ranks.size() && one.links.empty(); ++i) {
      subject.ranks[i] = std::binary_search(one.ranks.begin(), one.ranks.end(),
                                            graph.world_ranks[i]);
    }
    for (const auto& [from, to] : one.links) {
      const std::uint32_t a = index_of(graph, from);
      const std::uint32_t b = index_of(graph, to);
      subject.links.emplace_back(std::min(a, b), std::max(a, b));
    }
    subjects.push_back(std::move(subject));
  }
}

/// By step of the graph.
std::vector<bool> steps_of(const OperationGraph& graph, const Asked& asked) {
  std::vector<bool> steps;
  for (const std::int64_t step : graph.step_numbers)
    steps.push_back(std::binary_search(asked.steps.begin(), asked.steps.end(), step));
  return steps;
}

/// A rank that was asked for by itself is slow itself.
std::vector<bool> blamed_ranks(const OperationGraph& graph, const std::vector<Asked>& asked) {
  std::vector<bool> blamed(graph.world_ranks.size(), false);
  for (const Asked& one : asked) {
    if (!one.links.empty() || one.ranks.size() != 1) continue;
    const std::uint32_t rank = index_of(graph, one.ranks[0]);
    if (rank < blamed.size()) blamed[rank] = true;
  }
  return blamed;
}

/// What all that was asked for costs together is split over it, by the mean of what each costs with
/// the others there and without.
void split_loss(const std::vector<Subject>& subjects, Player& player, WhatIf& result) {
  if (subjects.empty() || result.step_ns <= 0.0) return;
  constexpr std::size_t kMostPlayed = 8;  // of more, only what each costs with the others there
  const bool is_each_played = subjects.size() > 1 && subjects.size() <= kMostPlayed;
  const double none_ns = player.mean_without_ns(subjects);
  result.loss.explained = std::max(0.0, 1.0 - none_ns / result.step_ns);
  std::vector<double> weights;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    const double with_others_ns = result.step_ns - result.step_ns / subjects[i].scenario.gain;
    const double without_others_ns = is_each_played ? player.mean_without_ns(subjects, i) - none_ns
                                                    : 0.0;
    weights.push_back(std::max(0.0, with_others_ns) + std::max(0.0, without_others_ns));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < subjects.size(); ++i)
    result.asked[i].cost = sum > 0.0 ? result.loss.explained * weights[i] / sum : 0.0;
}

}  // namespace

WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options) {
  WhatIf result;
  result.limitations = graph.limitations;
  if (graph.operations.empty()) return result;
  if (share_without_peers(graph) > kMostWithoutPeers) {
    result.limitations.emplace_back(
        "nothing was replayed: the steps are too unlike each other to tell what their parts take "
        "usually");
    return result;
  }
  const std::vector<bool> blamed = blamed_ranks(graph, options.asked);
  Player player(graph, blamed);
  if (player.cut_count() != 0) {  // and are no longer in the graph
    graph.limitations.push_back(std::to_string(player.cut_count()) +
                                " waits went round in a circle and were cut");
    result.limitations = graph.limitations;
  }
  std::vector<Subject> subjects;
  add_asked(graph, options.asked, subjects);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    if (options.asked[i].factor > 1.0)
      player.expect(subjects[i], options.asked[i].factor, steps_of(graph, options.asked[i]));
  }
  const std::vector<double> steps_ns = player.step_times_ns(Player::As::kItWas);
  const std::vector<double> ideal_steps_ns = player.step_times_ns(Player::As::kUsual);
  result.steps = graph.step_numbers;
  result.step_ns = mean(steps_ns);
  result.ideal_step_ns = std::min(
      result.step_ns, mean(ideal_steps_ns));  // times that scatter much are longer at their mean
  result.best_step_ns = player.mean_ns(Player::As::kWithoutSlowness);
  result.slowdown = ratio(result.step_ns, result.ideal_step_ns);
  if (result.step_ns > 0.0)
    result.loss.total = std::max(0.0, 1.0 - result.best_step_ns / result.step_ns);
  for (std::size_t i = 0; i < result.steps.size(); ++i)
    result.step_slowdowns.push_back(ratio(steps_ns[i], ideal_steps_ns[i]));
  if (options.most_scenarios != 0) {
    add_ranks(graph, player, options.most_scenarios, subjects);
    add_groups(graph, player, groups, options.most_scenarios, subjects);
    add_operations(graph, player, options.most_scenarios, subjects);
  }
  player.play(subjects, result.step_ns, result.ideal_step_ns, result.best_step_ns);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    (i < options.asked.size() ? result.asked : result.scenarios).push_back(subjects[i].scenario);
  }
  subjects.resize(options.asked.size());
  split_loss(subjects, player, result);
  std::stable_sort(result.scenarios.begin(), result.scenarios.end(),
                   [](const Scenario& a, const Scenario& b) { return a.gain > b.gain; });
  return result;
}

WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables,
               const WhatIfOptions& options) {
  OperationGraph graph = build_graph(source, tables, options.graph);
  return what_if(graph, source, options);
}

WhatIf what_if(OperationGraph& graph, const RecordSource& source, const WhatIfOptions& options) {
  std::vector<std::vector<std::string>> groups;
  for (const std::int32_t rank : source.world_ranks()) {
    std::vector<std::string>& names = groups.emplace_back();
    for (const ParallelIndex& parallel : source.process(rank).info.parallel) {
      if (parallel.size > 1) names.push_back(parallel.name + " " + std::to_string(parallel.index));
    }
  }
  return what_if(graph, groups, options);
}

}  // namespace megascope::whatif
