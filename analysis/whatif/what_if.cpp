#include "analysis/whatif/what_if.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "analysis/whatif/replay.h"

namespace megascope::whatif {
namespace {

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0 : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double ratio(double time_ns, double other_ns) { return time_ns > 0 && other_ns > 0 ? time_ns / other_ns : 1.0; }

constexpr double kMostWithoutPeers = 0.25;

/// Of the time of all operations: those of types that were seen so seldom that there is nothing usual about them.
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

/// What a scenario is about: what certain ranks did, or operations of certain names.
struct Subject {
  Scenario scenario;
  std::vector<bool> ranks;  ///< of the graph; empty: none
  std::vector<bool> names;
};

/// Replays with usual durations of some operations.
class Player {
 public:
  explicit Player(OperationGraph& graph) : graph_(graph), replay_(graph), usual_ns_(usual_durations_ns(graph)) {}

  std::size_t cut_count() const { return replay_.cut_count(); }
  std::vector<double> step_times_ns(bool is_usual) {
    const auto lanes = replay_.step_times_ns([&](OperationIndex index, Replay::Lanes& lanes_ns) {
      lanes_ns.fill(is_usual ? usual_ns(index) : as_was_ns(index));
    });
    return lane_of(lanes, 0);
  }
  void play(std::vector<Subject>& subjects, double step_ns, double ideal_step_ns) {
    for (std::size_t first = 0; first < subjects.size(); first += kAtOnce) {
      play_some(subjects, first, std::min(kAtOnce, subjects.size() - first), step_ns, ideal_step_ns);
    }
  }
  /// Numbers below `count` in the order of time beyond the usual; number_of(operation) says to which it counts.
  template <class NumberOf>
  std::vector<std::size_t> furthest(std::size_t count, std::size_t most, const NumberOf& number_of) const {
    std::vector<double> excess(count);
    for (std::size_t i = 0; i < graph_.operations.size(); ++i) {
      const auto index = static_cast<OperationIndex>(i);
      excess[number_of(i)] += std::max(0.0, as_was_ns(index) - usual_ns(index));
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&excess](std::size_t a, std::size_t b) { return excess[a] > excess[b]; });
    order.resize(std::min(order.size(), most));
    return order;
  }

 private:
  /// Each subject is played twice: without its slowness, and alone with it.
  static constexpr std::size_t kAtOnce = Replay::kLanes / 2;

  /// Of a transfer that nobody waited for only that is known: it was over in time.
  double as_was_ns(OperationIndex index) const {
    const float duration_ns = graph_.operations[index].duration_ns;
    return duration_ns == kUnknownDuration ? 0.0 : static_cast<double>(duration_ns);
  }
  double usual_ns(OperationIndex index) const { return static_cast<double>(usual_ns_[graph_.operations[index].type]); }
  static std::vector<double> lane_of(const std::vector<Replay::Lanes>& steps, std::size_t lane) {
    std::vector<double> times_ns;
    for (const Replay::Lanes& step : steps) times_ns.push_back(step[lane]);
    return times_ns;
  }

  void play_some(std::vector<Subject>& subjects, std::size_t first, std::size_t count, double step_ns, double ideal_step_ns) {
    std::vector<std::uint32_t> of_rank(graph_.world_ranks.size());
    std::vector<std::uint32_t> of_name(graph_.names.size());
    for (std::size_t lane = 0; lane < count; ++lane) {
      const Subject& subject = subjects[first + lane];
      for (std::size_t i = 0; i < subject.ranks.size(); ++i) of_rank[i] |= subject.ranks[i] ? 1U << lane : 0U;
      for (std::size_t i = 0; i < subject.names.size(); ++i) of_name[i] |= subject.names[i] ? 1U << lane : 0U;
    }
    const auto steps = replay_.step_times_ns([&](OperationIndex index, Replay::Lanes& lanes_ns) {
      const std::uint32_t is_meant = of_rank[graph_.rank_of[index]] | of_name[graph_.types[graph_.operations[index].type].name];
      const double was = as_was_ns(index);
      const double usual = usual_ns(index);
      for (std::size_t lane = 0; lane < kAtOnce; ++lane) {
        const bool is_of_subject = (is_meant >> lane & 1) != 0;
        lanes_ns[lane] = is_of_subject ? usual : was;
        lanes_ns[kAtOnce + lane] = is_of_subject ? was : usual;
      }
    });
    for (std::size_t lane = 0; lane < count; ++lane) {
      Scenario& scenario = subjects[first + lane].scenario;
      scenario.gain = ratio(step_ns, mean(lane_of(steps, lane)));
      scenario.alone = ratio(mean(lane_of(steps, kAtOnce + lane)), ideal_step_ns);
    }
  }

  OperationGraph& graph_;
  Replay replay_;
  std::vector<float> usual_ns_;  ///< by type
};

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

void add_ranks(const OperationGraph& graph, const Player& player, std::size_t most, std::vector<Subject>& subjects) {
  const std::size_t count = graph.world_ranks.size();
  for (const std::size_t rank : player.furthest(count, most, [&graph](std::size_t i) { return std::size_t{graph.rank_of[i]}; })) {
    Subject subject = subject_of(Scenario::Kind::kRank, "rank " + std::to_string(graph.world_ranks[rank]));
    subject.ranks = only(rank, count);
    subjects.push_back(std::move(subject));
  }
}

void add_operations(const OperationGraph& graph, const Player& player, std::size_t most, std::vector<Subject>& subjects) {
  const std::size_t count = graph.names.size();
  const auto name_of = [&graph](std::size_t i) { return std::size_t{graph.types[graph.operations[i].type].name}; };
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

std::map<std::string, Dimension> dimensions_of(const std::vector<std::vector<std::string>>& groups) {
  std::map<std::string, Dimension> dimensions;
  for (std::size_t rank = 0; rank < groups.size(); ++rank) {
    for (const std::string& name : groups[rank]) {
      Dimension& dimension = dimensions.try_emplace(name.substr(0, name.find(' ')), Dimension{{""}, {}}).first->second;
      dimension.group_of.resize(groups.size());
      const auto known = std::find(dimension.names.begin(), dimension.names.end(), name);
      dimension.group_of[rank] = static_cast<std::size_t>(known - dimension.names.begin());
      if (known == dimension.names.end()) dimension.names.push_back(name);
    }
  }
  return dimensions;
}

void add_groups(const OperationGraph& graph, const Player& player, const std::vector<std::vector<std::string>>& groups, std::size_t most,
                std::vector<Subject>& subjects) {
  for (const auto& entry : dimensions_of(groups)) {
    const Dimension& dimension = entry.second;
    const auto number_of = [&](std::size_t i) { return dimension.group_of[graph.rank_of[i]]; };
    for (const std::size_t group : player.furthest(dimension.names.size(), most + 1, number_of)) {
      Subject subject = subject_of(Scenario::Kind::kGroup, dimension.names[group]);
      for (const std::size_t of_rank : dimension.group_of) subject.ranks.push_back(of_rank == group);
      const bool is_all = std::find(subject.ranks.begin(), subject.ranks.end(), false) == subject.ranks.end();
      if (group != 0 && !is_all) subjects.push_back(std::move(subject));  // neither of none nor the whole job
    }
  }
}

void add_asked(const OperationGraph& graph, const std::vector<std::vector<std::int32_t>>& asked, std::vector<Subject>& subjects) {
  for (const std::vector<std::int32_t>& ranks : asked) {
    Subject subject = subject_of(Scenario::Kind::kAsked, {});
    subject.ranks.resize(graph.world_ranks.size());
    for (std::size_t i = 0; i < subject.ranks.size(); ++i) subject.ranks[i] = std::binary_search(ranks.begin(), ranks.end(), graph.world_ranks[i]);
    subjects.push_back(std::move(subject));
  }
}

}  // namespace

std::vector<float> usual_durations_ns(const OperationGraph& graph) {
  std::vector<std::vector<float>> by_type(graph.types.size());
  for (const Operation& operation : graph.operations) {
    if (operation.duration_ns != kUnknownDuration) by_type[operation.type].push_back(operation.duration_ns);
  }
  std::vector<float> usual;
  for (std::size_t type = 0; type < by_type.size(); ++type) {
    std::vector<float>& all = by_type[type];
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    if (all.empty()) {
      usual.push_back(0.0F);
    } else if (graph.types[type].is_work) {
      usual.push_back(static_cast<float>(std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size())));
    } else {
      std::nth_element(all.begin(), middle, all.end());
      const float upper = *middle;
      usual.push_back(all.size() % 2 == 1 ? upper : (*std::max_element(all.begin(), middle) + upper) / 2);
    }
  }
  return usual;
}

WhatIf what_if(OperationGraph& graph, const std::vector<std::vector<std::string>>& groups, const WhatIfOptions& options) {
  WhatIf result;
  result.limitations = graph.limitations;
  if (graph.operations.empty()) return result;
  if (share_without_peers(graph) > kMostWithoutPeers) {
    result.limitations.emplace_back("nothing was replayed: the steps are too unlike each other to tell what their parts take usually");
    return result;
  }
  Player player(graph);
  if (player.cut_count() != 0) {  // and are no longer in the graph
    graph.limitations.push_back(std::to_string(player.cut_count()) + " waits went round in a circle and were cut");
    result.limitations = graph.limitations;
  }
  const std::vector<double> steps_ns = player.step_times_ns(false);
  const std::vector<double> ideal_steps_ns = player.step_times_ns(true);
  result.steps = graph.step_numbers;
  result.step_ns = mean(steps_ns);
  result.ideal_step_ns = mean(ideal_steps_ns);
  result.slowdown = ratio(result.step_ns, result.ideal_step_ns);
  for (std::size_t i = 0; i < result.steps.size(); ++i) result.step_slowdowns.push_back(ratio(steps_ns[i], ideal_steps_ns[i]));
  std::vector<Subject> subjects;
  add_asked(graph, options.asked, subjects);
  add_ranks(graph, player, options.most_scenarios, subjects);
  add_groups(graph, player, groups, options.most_scenarios, subjects);
  add_operations(graph, player, options.most_scenarios, subjects);
  player.play(subjects, result.step_ns, result.ideal_step_ns);
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    (i < options.asked.size() ? result.asked : result.scenarios).push_back(std::move(subjects[i].scenario));
  }
  std::stable_sort(result.scenarios.begin(), result.scenarios.end(), [](const Scenario& a, const Scenario& b) { return a.gain > b.gain; });
  return result;
}

WhatIf what_if(const RecordSource& source, const analysis::MatchTables& tables, const WhatIfOptions& options) {
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
