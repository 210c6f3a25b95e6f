#include "analysis/detect/work_units.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace megascope::detect {
namespace {

constexpr double kFarApart = 4.0;  ///< times the permanent difference of peers
/// Variance of a class's lower third, times the number of its members, over the variance of a rank.
constexpr double kMeasureNoise = 1.5;

/// Returns the standard deviation of the variation that all ranks of a host have in common, beyond
/// that of independent ranks. Estimated from the half of the hosts that varies least, since the
/// others may be slow.
double common_noise(const std::vector<Strand>& strands,
                    const std::vector<std::vector<std::size_t>>& hosts, std::size_t steps) {
  constexpr double kEfficiency = 0.4;  // statistical efficiency of a median
  constexpr double kChosen = 1.15;     // corrects for the choice of the half that varies least
  constexpr double kMinCount = 4.0;    // lower bound of the number of values; limits `by_chance`
  std::vector<std::pair<double, double>>
      variances;  // of the host's mean; of the mean if its ranks were independent
  for (const auto& host : hosts) {
    std::vector<double> mean(steps, 0.0);
    double squares = 0.0;
    double count = 0.0;
    for (const std::size_t rank : host) {
      if (strands[rank].noise[0] <= 0.0) continue;
      const double own = spread(strands[rank].values);
      squares += own * own;
      count += 1.0;
      for (std::size_t step = 0; step < steps; ++step) mean[step] += strands[rank].values[step];
    }
    if (count < 2.0) continue;
    const double together = spread(std::move(mean)) / count;
    variances.emplace_back(together * together, squares / (count * count));
  }
  if (variances.empty()) return 0.0;
  std::sort(variances.begin(), variances.end());
  variances.resize((variances.size() + 1) / 2);
  double variance = 0.0;
  double independent = 0.0;
  for (const auto& [together, alone] : variances) {
    variance += together / static_cast<double>(variances.size());
    independent += alone / static_cast<double>(variances.size());
  }
  const double known = std::max(kMinCount,
                                kEfficiency * static_cast<double>(steps * variances.size()));
  const double by_chance = 1.0 + std::sqrt(2.0 / known);
  return kChosen * std::sqrt(std::max(0.0, variance - by_chance * independent));
}

class WorkUnitsBuilder {
 public:
  WorkUnitsBuilder(const WorkSeries& work, const Peers& peers, const Options& options)
      : work_(work),
        peers_(peers),
        options_(options),
        steps_(work.excess.empty() ? 0 : work.excess[0].size()) {
    made_.apart.assign(work.excess.size(), 0.0);
  }

  WorkUnits make() {
    for (const auto& series : work_.excess)
      made_.strands.push_back(
          {series, std::vector<double>(steps_, 0.0), kMinTailShare, kMinTailShare, 0.0});
    for (const auto& members : peers_.classes) add_rank_strands(members);
    set_tails(made_.strands, steps_);
    made_.first_shared = made_.strands.size();
    add_shared_strands();
    made_.first_class = made_.strands.size();
    if (peers_.classes.size() > 1) add_class_strands();
    add_units();
    return std::move(made_);
  }

 private:
  void add_rank_strands(const std::vector<std::size_t>& members) {
    if (members.size() < 2) return;
    const Measure measure = measure_of(work_, members);
    for (const std::size_t rank : members) {
      made_.apart[rank] = measure.apart;
      Strand& strand = made_.strands[rank];
      for (double& value : strand.values) value -= measure.level;
      strand.noise.assign(steps_, work_.noise[rank] * measure.widened);
    }
  }

  /// Adds a strand for each SharedSeries. Groups without peers have strands, too, but no unit uses
  /// them.
  void add_shared_strands() {
    std::vector<Strand> strands;
    for (const SharedSeries& shared : work_.shared) {
      strands.push_back({shared.excess,
                         std::vector<double>(steps_, shared.has_peers ? shared.noise : 0.0),
                         kMinTailShare, kMinTailShare, 0.0});
    }
    set_tails(strands, steps_);
    made_.strands.insert(made_.strands.end(), strands.begin(), strands.end());
  }

  void add_class_strands() {
    const std::size_t count = peers_.classes.size();
    const double least = std::log(options_.min_factor);
    if (count > 2) {
      for (std::size_t i = 0; i < count; ++i)
        made_.strands.push_back(strand_of_change(work_.class_level[i],
                                                 std::vector<double>(steps_, work_.class_noise[i]),
                                                 kMinTailShare, least));
      return;
    }
    // Two classes are measured by each other: variation that both have in common does not count.
    std::vector<double> difference;
    for (std::size_t step = 0; step < steps_; ++step)
      difference.push_back(work_.class_level[0][step] - work_.class_level[1][step]);
    const double noise = std::max(noise_of(difference),
                                  std::hypot(work_.class_min_noise[0], work_.class_min_noise[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      made_.strands.push_back(
          strand_of_change(difference, std::vector<double>(steps_, noise), kMinTailShare, least));
      for (double& value : difference) value = -value;
    }
  }

  /// Returns the unit of these ranks. A class that is completely in it contributes its own strand,
  /// which is measured by its past. Returns an empty unit if the ranks have nothing to be compared
  /// with. A master is omitted: its work is not comparable with that of others.
  Unit unit_of(const std::vector<std::size_t>& ranks, bool with_shared) const {
    std::vector<std::vector<std::size_t>> by_class(peers_.classes.size());
    for (const std::size_t rank : ranks) by_class[peers_.class_of[rank]].push_back(rank);
    Unit unit;
    for (std::size_t i = 0; i < by_class.size(); ++i) {
      const auto inside = static_cast<double>(by_class[i].size());
      const auto all = static_cast<double>(peers_.classes[i].size());
      if (inside == 0.0 || peers_.hub == peers_.classes[i][0]) continue;
      if (inside == all) {
        if (peers_.classes.size() < 2 || peers_.hub) return {};
        unit.strands.push_back(made_.first_class + i);
        unit.weights.push_back(1.0);
        continue;
      }
      for (const std::size_t rank : by_class[i]) {
        unit.strands.push_back(rank);
        unit.weights.push_back(all == 2.0 ? 1.0
                                          : (all + kMeasureNoise) / (all + inside * kMeasureNoise));
      }
    }
    if (with_shared) add_shared_to(by_class, unit);
    return unit;
  }

  /// Adds the strands of synchronised work of groups with a member in the unit: a slow member slows
  /// its group.
  void add_shared_to(const std::vector<std::vector<std::size_t>>& by_class, Unit& unit) const {
    for (std::size_t i = 0; i < work_.shared.size(); ++i) {
      const SharedSeries& shared = work_.shared[i];
      const std::vector<std::size_t>& inside = by_class[shared.class_index];
      if (!shared.has_peers || inside.size() == peers_.classes[shared.class_index].size()) continue;
      const bool is_hit = std::any_of(inside.begin(), inside.end(), [&](std::size_t rank) {
        return std::binary_search(shared.members.begin(), shared.members.end(), rank);
      });
      if (!is_hit) continue;
      unit.strands.push_back(made_.first_shared + i);
      unit.weights.push_back(1.0);
    }
  }

  void add_unit(Together kind, std::size_t index, std::size_t count,
                const std::vector<std::size_t>& ranks, bool with_shared = true) {
    constexpr double kKinds = 4.0;
    Unit unit = unit_of(ranks, with_shared);
    if (unit.strands.empty()) return;
    unit.log_prior = -std::log(kKinds * static_cast<double>(count));
    unit.may_be_uneven = kind == Together::kReplica;
    made_.units.push_back(std::move(unit));
    made_.kinds.push_back({kind, index, ranks, {}});
  }

  void add_units() {
    for (std::size_t i = 0; i < peers_.replicas.size(); ++i)
      add_unit(Together::kReplica, i, peers_.replicas.size(), peers_.replicas[i]);
    if (peers_.hosts.size() > 1 && steps_ > 1)
      made_.host_apart = kFarApart * common_noise(made_.strands, peers_.hosts, steps_);
    for (std::size_t i = 0; i < peers_.hosts.size() && peers_.hosts.size() > 1; ++i) {
      if (peers_.hosts[i].size() > 1)
        add_unit(Together::kHost, i, peers_.hosts.size(), peers_.hosts[i]);
    }
    const bool are_comparable = peers_.classes.size() > 1 && !peers_.hub;
    for (std::size_t i = 0; i < peers_.classes.size() && are_comparable; ++i) {
      add_unit(Together::kClass, i, peers_.classes.size(), peers_.classes[i]);
    }
    for (std::size_t rank = 0; rank < work_.excess.size(); ++rank) {
      if (peers_.classes[peers_.class_of[rank]].size() < 2) continue;
      add_unit(Together::kRank, rank, work_.excess.size(), {rank});
      if (made_.units.back().strands.size() > 1)
        add_unit(Together::kRank, rank, work_.excess.size(), {rank}, /*with_shared=*/false);
    }
    for (std::size_t i = 0; i < work_.shared.size(); ++i) {
      if (!work_.shared[i].has_peers) continue;
      add_unit(Together::kSynchronised, i, work_.shared.size(), work_.shared[i].members);
      made_.kinds.back().operation = work_.shared[i].operation;
      made_.units.push_back({{made_.first_shared + i},
                             {1.0},
                             made_.units.back().log_prior,
                             false});  // the group, slow only in its synchronised work
      made_.kinds.push_back(made_.kinds.back());
    }
  }

  const WorkSeries& work_;
  const Peers& peers_;
  const Options& options_;
  std::size_t steps_;
  WorkUnits made_;
};

}  // namespace

Measure measure_of(const WorkSeries& work, const std::vector<std::size_t>& members) {
  Measure measure;
  if (members.size() < 3) return measure;  // two members are compared with each other
  std::vector<double> levels;
  for (const std::size_t rank : members) {
    std::vector<double> values = work.excess[rank];
    levels.push_back(median(values));
  }
  measure.level = quantile(levels, kUsual);
  measure.apart = kFarApart * spread_below(levels, measure.level);
  measure.widened = std::sqrt(1.0 + kMeasureNoise / static_cast<double>(members.size()));
  return measure;
}

WorkUnits work_units(const WorkSeries& work, const Peers& peers, const Options& options) {
  return WorkUnitsBuilder(work, peers, options).make();
}

}  // namespace megascope::detect
