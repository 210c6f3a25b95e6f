#include "analysis/whatif/player.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace megascope::whatif {
namespace {

std::vector<double> lane_of(const std::vector<Replay::Lanes>& steps, std::size_t lane) {
  std::vector<double> times_ns;
  for (const Replay::Lanes& step : steps) times_ns.push_back(step[lane]);
  return times_ns;
}

double mean(const std::vector<double>& values) {
  return values.empty() ? 0.0
                        : std::accumulate(values.begin(), values.end(), 0.0) /
                              static_cast<double>(values.size());
}

double ratio(double time_ns, double other_ns) {
  return time_ns > 0 && other_ns > 0 ? time_ns / other_ns : 1.0;
}

}  // namespace

Player::Player(OperationGraph& graph, const std::vector<bool>& blamed)
    : graph_(graph),
      blamed_(blamed),
      replay_(graph),
      usual_ns_(usual_durations_ns(graph)),
      without_ns_(durations_without_slowness_ns(graph, usual_ns_)) {}

void Player::expect(const Subject& subject, double factor, const std::vector<bool>& steps) {
  const std::vector<Bits> bits = meant({subject}, 0, 1);
  const auto is_wanted = [&](OperationIndex index) {
    return bits[index] != 0 && graph_.types[graph_.operations[index].type].is_work &&
           (steps.empty() || steps[graph_.step_of[index]]);
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<double, double>>
      sums;  // by rank and step: as it was, and without slowness
  for (OperationIndex i = 0; i < bits.size(); ++i) {
    if (!is_wanted(i)) continue;
    auto& [was, without] = sums[{graph_.rank_of[i], graph_.step_of[i]}];
    was += as_was_ns(i);
    without += without_ns(i);
  }
  for (OperationIndex i = 0; i < bits.size(); ++i) {
    if (!is_wanted(i)) continue;
    const auto& [was, without] = sums.at({graph_.rank_of[i], graph_.step_of[i]});
    if (without * factor > was) without_ns_[i] *= static_cast<float>(was / (factor * without));
  }
}

std::vector<double> Player::step_times_ns(As as) {
  const auto lanes = replay_.step_times_ns([&](OperationIndex index, Replay::Lanes& lanes_ns) {
    lanes_ns.fill(as == As::kItWas   ? as_was_ns(index)
                  : as == As::kUsual ? usual_ns(index)
                                     : without_ns(index));
  });
  return lane_of(lanes, 0);
}

double Player::mean_ns(As as) { return mean(step_times_ns(as)); }

void Player::play(std::vector<Subject>& subjects, double step_ns, double ideal_step_ns,
                  double best_step_ns) {
  for (std::size_t first = 0; first < subjects.size(); first += kAtOnce) {
    play_some(subjects, first, std::min(kAtOnce, subjects.size() - first), step_ns, ideal_step_ns,
              best_step_ns);
  }
}

double Player::mean_without_ns(const std::vector<Subject>& subjects, std::size_t but) {
  std::vector<bool> is_meant(graph_.operations.size(), false);
  for (std::size_t first = 0; first < subjects.size(); first += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, subjects.size() - first);
    const std::vector<Bits> bits = meant(subjects, first, count);
    const Bits wanted = but >= first && but < first + count ? ~(Bits{1} << (but - first))
                                                            : ~Bits{0};
    for (std::size_t i = 0; i < bits.size(); ++i)
      is_meant[i] = is_meant[i] || (bits[i] & wanted) != 0;
  }
  const auto lanes = replay_.step_times_ns([&](OperationIndex index, Replay::Lanes& lanes_ns) {
    lanes_ns.fill(is_meant[index] ? without_ns(index) : as_was_ns(index));
  });
  return mean(lane_of(lanes, 0));
}

std::vector<std::size_t> Player::largest(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&values](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

/// Work in step is slow by the members that are slow themselves; where none is known to be, by all
/// of them together.
Player::Bits Player::shared_bits(std::uint32_t group, const std::vector<Bits>& of_rank) const {
  Bits all = ~Bits{0};
  Bits blamed = ~Bits{0};
  bool has_blamed = false;
  for (std::uint32_t i = graph_.group_begin[group]; i < graph_.group_begin[group + 1]; ++i) {
    const std::uint32_t rank = graph_.rank_of[graph_.starters[i]];
    all &= of_rank[rank];
    if (rank >= blamed_.size() || !blamed_[rank]) continue;
    has_blamed = true;
    blamed &= of_rank[rank];
  }
  return has_blamed ? blamed : all;
}

std::vector<Player::Bits> Player::meant(const std::vector<Subject>& subjects, std::size_t first,
                                        std::size_t count) const {
  std::vector<Bits> of_rank(graph_.world_ranks.size());
  std::vector<Bits> of_name(graph_.names.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bits> of_link;
  for (std::size_t lane = 0; lane < count; ++lane) {
    const Subject& subject = subjects[first + lane];
    for (std::size_t i = 0; i < subject.ranks.size(); ++i)
      of_rank[i] |= subject.ranks[i] ? Bits{1} << lane : 0U;
    for (std::size_t i = 0; i < subject.names.size(); ++i)
      of_name[i] |= subject.names[i] ? Bits{1} << lane : 0U;
    for (const auto& link : subject.links) of_link[link] |= Bits{1} << lane;
  }
  std::vector<Bits> shared(graph_.is_shared.size());
  std::vector<Bits> between(of_link.empty() ? 0 : graph_.group_count());
  for (std::uint32_t group = 0; group < graph_.group_count(); ++group) {
    if (graph_.is_shared_group(group)) shared[group] = shared_bits(group, of_rank);
    if (of_link.empty() || graph_.is_shared_group(group) ||
        graph_.group_begin[group] == graph_.group_begin[group + 1])
      continue;
    const auto ranks = std::span(graph_.starters)
                           .subspan(graph_.group_begin[group],
                                    graph_.group_begin[group + 1] - graph_.group_begin[group]);
    const auto [low, high] = std::minmax_element(ranks.begin(), ranks.end(),
                                                 [this](OperationIndex a, OperationIndex b) {
                                                   return graph_.rank_of[a] < graph_.rank_of[b];
                                                 });
    const auto found = of_link.find({graph_.rank_of[*low], graph_.rank_of[*high]});
    if (found != of_link.end() && ranks.size() <= 4) between[group] = found->second;
  }
  std::vector<Bits> bits(graph_.operations.size());
  for (OperationIndex index = 0; index < bits.size(); ++index) {
    const Operation& operation = graph_.operations[index];
    const bool is_shared = operation.group != kNone && graph_.is_shared_group(operation.group);
    bits[index] = of_name[graph_.types[operation.type].name] |
                  (is_shared ? shared[operation.group] : of_rank[graph_.rank_of[index]]);
    if (!between.empty() && operation.group != kNone) bits[index] |= between[operation.group];
  }
  return bits;
}

void Player::play_some(std::vector<Subject>& subjects, std::size_t first, std::size_t count,
                       double step_ns, double ideal_step_ns, double best_step_ns) {
  const std::vector<Bits> bits = meant(subjects, first, count);
  const auto steps = replay_.step_times_ns([&](OperationIndex index, Replay::Lanes& lanes_ns) {
    const double was = as_was_ns(index);
    const double usual = usual_ns(index);
    const double without = without_ns(index);
    for (std::size_t lane = 0; lane < kAtOnce; ++lane) {
      const bool is_of_subject = (bits[index] >> lane & 1) != 0;
      lanes_ns[lane] = is_of_subject ? without : was;
      lanes_ns[kAtOnce + lane] = is_of_subject ? was : without;
      lanes_ns[2 * kAtOnce + lane] = is_of_subject ? was : usual;
    }
    for (std::size_t lane = 3 * kAtOnce; lane < Replay::kLanes; ++lane) lanes_ns[lane] = 0.0;
  });
  for (std::size_t lane = 0; lane < count; ++lane) {
    Scenario& scenario = subjects[first + lane].scenario;
    scenario.gain = ratio(step_ns, mean(lane_of(steps, lane)));
    scenario.alone = ratio(mean(lane_of(steps, kAtOnce + lane)), best_step_ns);
    scenario.alone_at_mean = ratio(mean(lane_of(steps, 2 * kAtOnce + lane)), ideal_step_ns);
  }
}

}  // namespace megascope::whatif
