#include "analysis/whatif/what_if.h"

#include "analysis/whatif/player.h"
#include "analysis/whatif/prepared_graph.h"
#include "analysis/whatif/readings.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace megascope::whatif {
namespace {

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

/// The groups of one dimension: their names, and the group of each rank.
struct Dimension {
  std::vector<std::string> names;
  std::vector<std::size_t> group_of;  ///< by rank: index in names; 0: in no group
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
        subjects.push_back(std::move(subject));  // neither ranks without a group nor the whole job
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

/// By step of the graph: true if `asked` names it.
std::vector<bool> steps_of(const OperationGraph& graph, const Asked& asked) {
  std::vector<bool> steps;
  for (const std::int64_t step : graph.step_numbers)
    steps.push_back(std::binary_search(asked.steps.begin(), asked.steps.end(), step));
  return steps;
}

/// Returns the ranks that are the only rank of an entry of `asked`: they are slow themselves.
std::vector<bool> blamed_ranks(const OperationGraph& graph, const std::vector<Asked>& asked) {
  std::vector<bool> blamed(graph.world_ranks.size(), false);
  for (const Asked& one : asked) {
    if (!one.links.empty() || one.ranks.size() != 1) continue;
    const std::uint32_t rank = index_of(graph, one.ranks[0]);
    if (rank < blamed.size()) blamed[rank] = true;
  }
  return blamed;
}

/// Splits the cost of all entries of `asked` together among them, in proportion to the mean of what
/// each costs with the others present and with the others removed.
void split_loss(const Readings& readings, WhatIf& result) {
  if (result.asked.empty() || result.step_ns <= 0.0) return;
  const double none_ns = readings.without_asked_ns();
  result.loss.explained = std::max(0.0, 1.0 - none_ns / result.step_ns);
  std::vector<double> weights;
  for (std::size_t i = 0; i < result.asked.size(); ++i) {
    const double with_others_ns = result.step_ns - result.step_ns / result.asked[i].gain;
    const double without_others_ns = readings.without_others_ns().empty()
                                         ? 0.0
                                         : readings.without_others_ns()[i] - none_ns;
    weights.push_back(std::max(0.0, with_others_ns) + std::max(0.0, without_others_ns));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i)
    result.asked[i].cost = sum > 0.0 ? result.loss.explained * weights[i] / sum : 0.0;
}

/// Sets the times of the whole run.
void set_times(const OperationGraph& graph, const Readings& readings, WhatIf& result) {
  result.steps = graph.step_numbers;
  result.step_ns = readings.step_ns();
  result.ideal_step_ns = readings.ideal_step_ns();
  result.best_step_ns = readings.best_step_ns();
  result.slowdown = ratio(result.step_ns, result.ideal_step_ns);
  if (result.step_ns > 0.0)
    result.loss.total = std::max(0.0, 1.0 - result.best_step_ns / result.step_ns);
  for (std::size_t i = 0; i < result.steps.size(); ++i) {
    result.step_slowdowns.push_back(ratio(readings.steps_ns()[i], readings.ideal_steps_ns()[i]));
  }
}

std::vector<Scenario> scenarios_of(const std::vector<Subject>& subjects) {
  std::vector<Scenario> scenarios;
  for (const Subject& subject : subjects) scenarios.push_back(subject.scenario);
  return scenarios;
}

}  // namespace

WhatIf what_if(const PreparedGraph& prepared, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options) {
  WhatIf result;
  result.limitations = prepared.limitations();
  if (!prepared.can_be_replayed()) return result;
  const OperationGraph& graph = prepared.graph();
  const std::vector<bool> blamed = blamed_ranks(graph, options.asked);
  Player player(prepared, blamed);
  std::vector<Subject> asked;
  add_asked(graph, options.asked, asked);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (options.asked[i].factor > 1.0)
      player.expect(asked[i], options.asked[i].factor, steps_of(graph, options.asked[i]));
  }
  Readings readings(player, options.has_costs_only);
  readings.read_asked(asked);
  set_times(graph, readings, result);
  result.asked = scenarios_of(asked);
  split_loss(readings, result);
  if (options.max_scenarios == 0) return result;
  std::vector<Subject> subjects;
  add_ranks(graph, player, options.max_scenarios, subjects);
  add_groups(graph, player, groups, options.max_scenarios, subjects);
  add_operations(graph, player, options.max_scenarios, subjects);
  readings.read(subjects);
  result.scenarios = scenarios_of(subjects);
  std::stable_sort(result.scenarios.begin(), result.scenarios.end(),
                   [](const Scenario& a, const Scenario& b) { return a.gain > b.gain; });
  return result;
}

WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups,
               const WhatIfOptions& options) {
  return what_if(PreparedGraph(graph), groups, options);
}

WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables,
               const WhatIfOptions& options) {
  OperationGraph graph = build_graph(source, tables, options.graph);
  return what_if(PreparedGraph(graph), source, options);
}

WhatIf what_if(const PreparedGraph& prepared, const RecordSource& source,
               const WhatIfOptions& options) {
  std::vector<std::vector<std::string>> groups;
  for (const std::int32_t rank : source.world_ranks()) {
    std::vector<std::string>& names = groups.emplace_back();
    for (const ParallelIndex& parallel : source.process(rank).info.parallel) {
      if (parallel.size > 1) names.push_back(parallel.name + " " + std::to_string(parallel.index));
    }
  }
  return what_if(prepared, groups, options);
}

}  // namespace megascope::whatif
