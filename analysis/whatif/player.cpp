#include "analysis/whatif/player.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

namespace megascope::whatif {
namespace {

/// The durations of operations in the lanes of one replay.
template <std::size_t Count>
class LaneTimes {
 public:
  explicit LaneTimes(std::span<const Variant> variants) {
    for (std::size_t lane = 0; lane < variants.size(); ++lane) {
      const Variant& variant = variants[lane];
      others_[lane] = static_cast<std::uint8_t>(variant.others);
      theirs_[lane] = static_cast<std::uint8_t>(variant.theirs);
      all_ |= variant.subjects;
      for (SubjectBits left = variant.subjects; left != 0; left &= left - 1)
        lanes_of_[static_cast<std::size_t>(std::countr_zero(left))] |= 1U << lane;
    }
    for (std::size_t lane = variants.size(); lane < Count; ++lane) others_[lane] = others_[0];
    is_uniform_ = std::ranges::count(others_, others_[0]) == static_cast<std::ptrdiff_t>(Count);
  }

  /// Writes the duration of one operation in each lane. times_ns: by Variant::Time. subjects: the
  /// subjects of the operation.
  void set(const std::array<double, 3>& times_ns, SubjectBits subjects,
           Replay::LanesOf<Count>& lanes_ns) const {
    if (is_uniform_) {
      lanes_ns.fill(times_ns[others_[0]]);
    } else {
      for (std::size_t lane = 0; lane < Count; ++lane) lanes_ns[lane] = times_ns[others_[lane]];
    }
    for (SubjectBits left = subjects & all_; left != 0; left &= left - 1) {
      std::uint32_t lanes = lanes_of_[static_cast<std::size_t>(std::countr_zero(left))];
      for (; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(lanes));
        lanes_ns[lane] = times_ns[theirs_[lane]];
      }
    }
  }

 private:
  std::array<std::uint8_t, Count> others_ = {};
  std::array<std::uint8_t, Count> theirs_ = {};
  std::array<std::uint32_t, kMaxSubjects> lanes_of_ = {};  ///< by subject: bit i is lane i
  SubjectBits all_ = 0;
  bool is_uniform_ = false;
};

}  // namespace

Player::Player(const PreparedGraph& prepared, const std::vector<bool>& blamed)
    : prepared_(prepared),
      graph_(prepared.graph()),
      blamed_(blamed),
      without_ns_(prepared.without_ns()) {}

void Player::expect(const Subject& subject, double factor, const std::vector<bool>& steps) {
  const std::vector<SubjectBits> bits = meant({&subject, 1});
  const auto is_wanted = [&](OperationIndex index) {
    return bits[index] != 0 && graph_.types[graph_.operations[index].type].is_work &&
           (steps.empty() || steps[graph_.step_of[index]]);
  };
  struct Sums {
    double was_ns = 0.0;
    double without_ns = 0.0;
  };
  const std::size_t step_count = graph_.step_numbers.size();
  std::vector<Sums> sums(graph_.world_ranks.size() * step_count);
  const auto cell = [&](OperationIndex index) -> Sums& {
    return sums[graph_.rank_of[index] * step_count + graph_.step_of[index]];
  };
  for (OperationIndex i = 0; i < bits.size(); ++i) {
    if (!is_wanted(i)) continue;
    cell(i).was_ns += as_was_ns(i);
    cell(i).without_ns += without_ns(i);
  }
  for (OperationIndex i = 0; i < bits.size(); ++i) {
    if (!is_wanted(i)) continue;
    const auto& [was_ns, without_ns] = cell(i);
    if (without_ns * factor > was_ns)
      without_ns_[i] *= static_cast<float>(was_ns / (factor * without_ns));
  }
}

std::vector<std::vector<double>> Player::step_times_ns(
    std::span<const Variant> variants, const std::vector<SubjectBits>& meant) const {
  std::vector<std::vector<double>> steps_ns;
  for (std::size_t first = 0; first < variants.size(); first += Replay::kLanes) {
    const auto some = variants.subspan(first, std::min(Replay::kLanes, variants.size() - first));
    if (some.size() <= 4) {
      replay_some<4>(some, meant, steps_ns);
    } else if (some.size() <= 8) {
      replay_some<8>(some, meant, steps_ns);
    } else {
      replay_some<Replay::kLanes>(some, meant, steps_ns);
    }
  }
  return steps_ns;
}

/// Replays at most Count variants and appends their step times.
template <std::size_t Count>
void Player::replay_some(std::span<const Variant> variants, const std::vector<SubjectBits>& meant,
                         std::vector<std::vector<double>>& steps_ns) const {
  const LaneTimes<Count> lane_times(variants);
  const auto steps = prepared_.replay().step_times_ns<Count>([&](OperationIndex index,
                                                                 Replay::LanesOf<Count>& lanes_ns) {
    lane_times.set({as_was_ns(index), usual_ns(index), without_ns(index)}, meant[index], lanes_ns);
  });
  for (std::size_t lane = 0; lane < variants.size(); ++lane) {
    std::vector<double>& times_ns = steps_ns.emplace_back();
    for (const auto& step : steps) times_ns.push_back(step[lane]);
  }
}

std::vector<std::size_t> Player::largest(const std::vector<double>& values, std::size_t most) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&values](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  order.resize(std::min(order.size(), most));
  return order;
}

/// Returns the subjects of a group's work that contains synchronisation: those that contain all of
/// its blamed members; if it has none, those that contain all members.
SubjectBits Player::shared_bits(std::uint32_t group,
                                const std::vector<SubjectBits>& of_rank) const {
  SubjectBits all = ~SubjectBits{0};
  SubjectBits blamed = ~SubjectBits{0};
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

std::vector<SubjectBits> Player::meant(std::span<const Subject> subjects) const {
  std::vector<SubjectBits> of_rank(graph_.world_ranks.size());
  std::vector<SubjectBits> of_name(graph_.names.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, SubjectBits> of_link;
  for (std::size_t number = 0; number < subjects.size(); ++number) {
    const Subject& subject = subjects[number];
    const SubjectBits bit = SubjectBits{1} << number;
    for (std::size_t i = 0; i < subject.ranks.size(); ++i) of_rank[i] |= subject.ranks[i] ? bit : 0;
    for (std::size_t i = 0; i < subject.names.size(); ++i) of_name[i] |= subject.names[i] ? bit : 0;
    for (const auto& link : subject.links) of_link[link] |= bit;
  }
  std::vector<SubjectBits> shared(graph_.is_shared.size());
  std::vector<SubjectBits> between(of_link.empty() ? 0 : graph_.group_count());
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
  std::vector<SubjectBits> bits(graph_.operations.size());
  for (OperationIndex index = 0; index < bits.size(); ++index) {
    const Operation& operation = graph_.operations[index];
    const bool is_shared = operation.group != kNone && graph_.is_shared_group(operation.group);
    bits[index] = of_name[graph_.types[operation.type].name] |
                  (is_shared ? shared[operation.group] : of_rank[graph_.rank_of[index]]);
    if (!between.empty() && operation.group != kNone) bits[index] |= between[operation.group];
  }
  return bits;
}

}  // namespace megascope::whatif
