#include "analysis/detect/work_judge.h"

#include "analysis/detect/replica_variation.h"
#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kUsual = 1.0 / 3.0;
constexpr double kFarApart = 4.0;  ///< times what peers are apart for good
constexpr double
    kMinRemainder = 0.35;  ///< of a class's excess: what slow ranks in it do not explain
constexpr double kMeasureNoise = 1.5;  ///< variance of a class's lower third, times its members, in
                                       ///< those of a rank

/// Beside what it is in the middle: a steady machine shows the least unevenness of a rank that is
/// slow all the time.
bool varies_by_much(std::vector<double> excess) {
  constexpr double kLeastShare = 0.25;
  std::sort(excess.begin(), excess.end());
  const double spread = excess[excess.size() * 4 / 5] - excess[excess.size() / 5];
  return spread > kLeastShare * std::fabs(excess[excess.size() / 2]);
}

/// How much higher a series is in the finding's steps than in the others.
double rise_of(const std::vector<double>& series, const Finding& finding) {
  std::vector<double> inside;
  std::vector<double> outside;
  for (std::size_t step = 0; step < series.size(); ++step)
    (finding.is_active[step] ? inside : outside).push_back(series[step]);
  return inside.empty() || outside.empty() ? 0.0 : median(inside) - median(outside);
}

/// Strands of ranks by index, then of classes; and the units made of them.
class WorkJudge {
 public:
  WorkJudge(const WorkSeries& work, const Peers& peers, const Options& options)
      : work_(work),
        peers_(peers),
        options_(options),
        steps_(work.excess.empty() ? 0 : work.excess[0].size()),
        apart_(work.excess.size(), 0.0) {
    for (const auto& series : work.excess)
      strands_.push_back(
          {series, std::vector<double>(steps_, 0.0), kMinTailShare, kMinTailShare, 0.0});
    for (const auto& members : peers.classes) add_rank_strands(members);
    set_tails(strands_, steps_);
    first_shared_ = strands_.size();
    add_shared_strands();
    first_class_ = strands_.size();
    if (peers.classes.size() > 1) add_class_strands();
    variations_ = replica_variations(work, peers);
  }

  std::vector<SlowUnit> judge() {
    add_units();
    const std::vector<Scan> scans = scan(strands_, units_, std::log(options_.least_factor));
    std::vector<std::size_t> order(units_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scans[a].score > scans[b].score; });
    is_explained_.assign(strands_.size(), false);
    // What a class does in step with a slow rank makes the class slow too: classes are judged last,
    // where there is such work.
    const auto is_late = [&](std::size_t unit) {
      return !work_.shared.empty() && kinds_[unit].kind == Together::kClass;
    };
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t unit) { return !is_late(unit); });
    for (const std::size_t i : order) {
      if (scans[i].score >= score_threshold(options_) && is_free(units_[i])) settle(i, scans);
    }
    if (peers_.is_pipeline) judge_stages();
    add_varying_replicas();
    return std::move(found_);
  }

 private:
  void add_rank_strands(const std::vector<std::size_t>& members) {
    if (members.size() < 2) return;
    const Measure measure = measure_of(work_, members);
    for (const std::size_t rank : members) {
      apart_[rank] = measure.apart;
      Strand& strand = strands_[rank];
      for (double& value : strand.values) value -= measure.level;
      strand.noise.assign(steps_, work_.noise[rank] * measure.widened);
    }
  }

  /// Groups that no other group of their class can be compared with have strands too, which no unit
  /// takes.
  void add_shared_strands() {
    std::vector<Strand> strands;
    for (const SharedSeries& shared : work_.shared) {
      strands.push_back({shared.excess,
                         std::vector<double>(steps_, shared.has_peers ? shared.noise : 0.0),
                         kMinTailShare, kMinTailShare, 0.0});
    }
    set_tails(strands, steps_);
    strands_.insert(strands_.end(), strands.begin(), strands.end());
  }

  void add_class_strands() {
    const std::size_t count = peers_.classes.size();
    const double least = std::log(options_.least_factor);
    if (count > 2) {
      for (std::size_t i = 0; i < count; ++i)
        strands_.push_back(strand_of_change(work_.class_level[i],
                                            std::vector<double>(steps_, work_.class_noise[i]),
                                            kMinTailShare, least));
      return;
    }
    // Of two classes each is the other's measure: what is common to both does not count.
    std::vector<double> difference;
    for (std::size_t step = 0; step < steps_; ++step)
      difference.push_back(work_.class_level[0][step] - work_.class_level[1][step]);
    const double noise = std::max(
        noise_of(difference), std::hypot(work_.class_least_noise[0], work_.class_least_noise[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      strands_.push_back(
          strand_of_change(difference, std::vector<double>(steps_, noise), kMinTailShare, least));
      for (double& value : difference) value = -value;
    }
  }

  /// Strands of the ranks: a class that is in it as a whole is its own measure. Empty: nothing
  /// tells whether they are slow.
  Unit unit_of(const std::vector<std::size_t>& ranks, bool with_shared) const {
    std::vector<std::vector<std::size_t>> by_class(peers_.classes.size());
    for (const std::size_t rank : ranks) by_class[peers_.class_of[rank]].push_back(rank);
    Unit unit;
    for (std::size_t i = 0; i < by_class.size(); ++i) {
      const auto inside = static_cast<double>(by_class[i].size());
      const auto all = static_cast<double>(peers_.classes[i].size());
      if (inside == 0.0) continue;
      if (inside == all) {
        if (peers_.classes.size() < 2) return {};
        unit.strands.push_back(first_class_ + i);
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

  /// A member that is slow makes what its group does in step slow as well.
  void add_shared_to(const std::vector<std::vector<std::size_t>>& by_class, Unit& unit) const {
    for (std::size_t i = 0; i < work_.shared.size(); ++i) {
      const SharedSeries& shared = work_.shared[i];
      const std::vector<std::size_t>& inside = by_class[shared.class_index];
      if (!shared.has_peers || inside.size() == peers_.classes[shared.class_index].size()) continue;
      const bool is_hit = std::any_of(inside.begin(), inside.end(), [&](std::size_t rank) {
        return std::binary_search(shared.members.begin(), shared.members.end(), rank);
      });
      if (!is_hit) continue;
      unit.strands.push_back(first_shared_ + i);
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
    units_.push_back(std::move(unit));
    kinds_.push_back({kind, index, ranks, {}});
  }

  void add_units() {
    for (std::size_t i = 0; i < peers_.replicas.size(); ++i)
      add_unit(Together::kReplica, i, peers_.replicas.size(), peers_.replicas[i]);
    for (std::size_t i = 0; i < peers_.hosts.size() && peers_.hosts.size() > 1; ++i) {
      if (peers_.hosts[i].size() > 1)
        add_unit(Together::kHost, i, peers_.hosts.size(), peers_.hosts[i]);
    }
    for (std::size_t i = 0; i < peers_.classes.size() && peers_.classes.size() > 1; ++i) {
      add_unit(Together::kClass, i, peers_.classes.size(), peers_.classes[i]);
    }
    for (std::size_t rank = 0; rank < work_.excess.size(); ++rank) {
      if (peers_.classes[peers_.class_of[rank]].size() < 2) continue;
      add_unit(Together::kRank, rank, work_.excess.size(), {rank});
      if (units_.back().strands.size() > 1)
        add_unit(Together::kRank, rank, work_.excess.size(), {rank}, /*with_shared=*/false);
    }
    for (std::size_t i = 0; i < work_.shared.size(); ++i) {
      if (!work_.shared[i].has_peers) continue;
      add_unit(Together::kSynchronised, i, work_.shared.size(), work_.shared[i].members);
      kinds_.back().operation = work_.shared[i].operation;
      units_.push_back({{first_shared_ + i},
                        {1.0},
                        units_.back().log_prior,
                        false});  // slow only in what they do in step
      kinds_.push_back(kinds_.back());
    }
  }

  bool is_free(const Unit& unit) const {
    return std::none_of(unit.strands.begin(), unit.strands.end(),
                        [&](std::size_t strand) { return is_explained_[strand]; });
  }

  /// Of units that are the same ranks, which is it? Index of the unit.
  std::size_t same_as(std::size_t chosen, const std::vector<Scan>& scans) const {
    std::size_t of[] = {units_.size(), units_.size(), units_.size(), units_.size(), units_.size()};
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (units_[i].strands == units_[chosen].strands)
        of[static_cast<std::size_t>(kinds_[i].kind)] = i;
    }
    const auto [rank, host, replica, whole, synchronised] = of;
    const auto is_there = [&](std::size_t unit) { return unit != units_.size(); };
    const bool has_other = is_there(rank) || is_there(host) || is_there(whole);
    if (is_there(replica) && (!has_other || is_uneven(replica, scans[replica]))) return replica;
    if (is_there(rank)) return rank;
    if (is_there(synchronised) && !is_there(host) && !is_there(whole)) return synchronised;
    if (is_there(host) && is_there(whole))
      return describe(strands_, units_[host], scans[host], 0.0).onset <= 1 ? whole : host;
    return is_there(host) ? host : whole;
  }

  /// By what its ranks have in common, whose noise falls with their number.
  bool is_uneven(std::size_t replica, const Scan& found) const {
    const Unit& unit = units_[replica];
    Strand mean{std::vector<double>(steps_, 0.0), std::vector<double>(steps_, 0.0),
                strands_[unit.strands[0]].tail_share, strands_[unit.strands[0]].far_share, 0.0};
    const auto count = static_cast<double>(unit.strands.size());
    const double noise_share = 1.0 / std::sqrt(count * unit.weights[0]) / count;
    for (const std::size_t strand : unit.strands) {
      for (std::size_t step = 0; step < steps_; ++step) {
        mean.values[step] += strands_[strand].values[step] / count;
        mean.noise[step] += strands_[strand].noise[step] * noise_share;
      }
    }
    const Scan scanned = scan({mean}, {{{0}, {1.0}, 0.0, true}},
                              std::log(options_.least_factor))[0];
    const auto begin = mean.values.begin();
    return scanned.uneven_score > scanned.even_score &&
           varies_by_much({begin + static_cast<std::ptrdiff_t>(found.first),
                           begin + static_cast<std::ptrdiff_t>(found.last + 1)});
  }

  /// What all classes have in common is no class's fault: those that are not in the unit must not
  /// have changed alike. Of two classes, whose difference was judged, the one that changed itself
  /// is slow.
  bool changed_itself(const Unit& unit, const Finding& finding) const {
    const std::size_t ranks = first_class_;
    const std::size_t last = unit.strands.back();
    if (last < ranks) return true;
    const std::size_t count = peers_.classes.size();
    if (count == 2)
      return rise_of(work_.class_level[last - ranks], finding) >
             -rise_of(work_.class_level[1 - (last - ranks)], finding);
    std::vector<double> others;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_inside = std::find(unit.strands.begin(), unit.strands.end(), ranks + i) !=
                             unit.strands.end();
      if (!is_inside) others.push_back(rise_of(work_.class_level[i], finding));
    }
    return others.empty() || median(others) < 0.5 * finding.excess;
  }

  /// What a group does in step is slow by the member that was found already.
  bool is_of_found_rank(std::size_t unit) const {
    if (kinds_[unit].kind != Together::kSynchronised) return false;
    const std::vector<std::size_t>& members = kinds_[unit].ranks;
    return std::any_of(found_.begin(), found_.end(), [&](const SlowUnit& found) {
      return found.kind == Together::kRank &&
             std::binary_search(members.begin(), members.end(), found.index);
    });
  }

  /// Where one member of a group is slow by what it does alone, the group is slow by it: that
  /// rank's unit.
  std::size_t rank_of_group(std::size_t named, const std::vector<Scan>& scans) const {
    if (kinds_[named].kind != Together::kSynchronised) return named;
    std::size_t found = named;
    std::size_t count = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (kinds_[i].kind != Together::kRank || units_[i].strands.size() != 1 ||
          scans[i].score < score_threshold(options_))
        continue;
      if (!std::binary_search(kinds_[named].ranks.begin(), kinds_[named].ranks.end(),
                              kinds_[i].index) ||
          is_explained_[kinds_[i].index])
        continue;
      found = i;
      ++count;
    }
    return count == 1 ? found : named;
  }

  /// Where only work that a group does in step shows that one of its members is slow, it is not
  /// known which: the unit of the group.
  std::size_t group_of_unsure(std::size_t named, const std::vector<Scan>& scans) const {
    constexpr double kSure = 4.0;  // log of how much likelier
    if (kinds_[named].kind != Together::kRank || units_[named].strands.size() < 2) return named;
    if (scans[named + 1].score > kSure) return named;  // its own work alone
    const std::size_t rank = kinds_[named].index;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (kinds_[i].kind != Together::kSynchronised) continue;
      const std::vector<std::size_t>& members = kinds_[i].ranks;
      if (members.size() > 1 && std::binary_search(members.begin(), members.end(), rank)) return i;
    }
    return named;
  }

  void settle(std::size_t chosen, const std::vector<Scan>& scans) {
    if (is_of_found_rank(chosen)) {
      for (const std::size_t one : units_[chosen].strands) is_explained_[one] = true;
      return;
    }
    const std::size_t named = group_of_unsure(rank_of_group(same_as(chosen, scans), scans), scans);
    const Finding finding = describe(strands_, units_[named], scans[named],
                                     score_threshold(options_));
    double apart = 0.0;
    for (const std::size_t rank : kinds_[named].ranks) apart = std::max(apart, apart_[rank]);
    if (!is_worth_it(finding, options_,
                     scans[named].is_uneven ? 1.001 * scans[named].height : 0.0) ||
        finding.excess <= apart)
      return;
    if (!changed_itself(units_[named], finding)) return;
    if (kinds_[named].kind == Together::kClass &&
        finding.excess - dragged(kinds_[named].index, finding) < kMinRemainder * finding.excess)
      return;
    for (const std::size_t one : units_[named].strands) is_explained_[one] = true;
    for (const std::size_t one : units_[chosen].strands) is_explained_[one] = true;
    found_.push_back(kinds_[named]);
    found_.back().finding = finding;
    if (kinds_[named].kind == Together::kReplica) {
      found_.back().is_uneven = is_uneven(named, scans[named]) ||
                                (!variations_.empty() && variations_[kinds_[named].index].is_there);
    }
  }

  /// Replicas that all vary are one finding; what was found of some of them is part of it, unless
  /// it is much larger.
  void add_varying_replicas() {
    constexpr double kMuchLarger = 3.0;
    SlowUnit unit = varying_replicas(variations_, peers_);
    if (unit.ranks.empty() || !is_worth_it(unit.finding, options_)) return;
    std::erase_if(found_, [&](const SlowUnit& found) {
      return found.kind != Together::kClass &&
             found.finding.excess < kMuchLarger * unit.finding.excess;
    });
    unit.finding.threshold = score_threshold(options_);
    found_.push_back(std::move(unit));
  }

  /// By how much ranks that were found slow make the class slow, through work that all of its ranks
  /// do in step: log factor.
  double dragged(std::size_t class_index, const Finding& finding) const {
    double most = 0.0;
    for (const SlowUnit& unit : found_) {
      if (unit.kind == Together::kClass) continue;
      double share = 0.0;
      for (const SharedSeries& shared : work_.shared) {
        const bool is_hit = std::any_of(
            unit.ranks.begin(), unit.ranks.end(), [&](std::size_t rank) {
              return std::binary_search(shared.members.begin(), shared.members.end(), rank);
            });
        if (shared.class_index == class_index && !shared.has_peers && is_hit) share += shared.share;
      }
      std::size_t both = 0;
      for (std::size_t step = 0; step < steps_; ++step)
        both += finding.is_active[step] && unit.finding.is_active[step] ? 1 : 0;
      const double factor = 1.0 - std::min(share, 1.0) * -std::expm1(-unit.finding.excess);
      most = std::max(most,
                      -std::log(factor) * static_cast<double>(both) /
                          static_cast<double>(std::max<std::size_t>(finding.active_steps, 1)));
    }
    return most;
  }

  /// Against the other stages: slow since the first step. That is more than a change, where it is
  /// much more.
  void judge_stages() {
    constexpr double kMuchMore = 2.0;
    std::vector<double> levels;
    for (std::vector<double> level : work_.class_level) levels.push_back(median(level));
    std::vector<double> sorted = levels;
    const double usual = quantile(sorted, kUsual);
    double mean = 0.0;
    for (const double level : levels) mean += std::exp(level) / static_cast<double>(levels.size());
    const double threshold = score_threshold(options_) +
                             std::log(static_cast<double>(levels.size()));
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const auto same = std::find_if(found_.begin(), found_.end(), [i](const SlowUnit& unit) {
        return unit.kind == Together::kClass && unit.index == i;
      });
      if (is_explained_[first_class_ + i] && same == found_.end()) continue;
      const double z = (levels[i] - usual) /
                       (work_.class_noise[i] * std::sqrt(4.0 / static_cast<double>(steps_)));
      if (z < std::sqrt(2.0 * threshold)) continue;
      Finding finding;
      finding.last = steps_ - 1;
      finding.is_active.assign(steps_, true);
      finding.active_steps = steps_;
      finding.excess = levels[i] - usual;
      finding.score = 0.5 * z * z;
      finding.threshold = threshold;
      finding.excess -= dragged(i, finding);
      if (finding.excess < kMinRemainder * (levels[i] - usual) || !is_worth_it(finding, options_))
        continue;
      if (same == found_.end()) {
        found_.push_back({Together::kClass, i, peers_.classes[i], finding});
        found_.back().balance_factor = std::exp(levels[i]) / mean;
      } else if (finding.excess > kMuchMore * same->finding.excess) {
        same->finding = finding;
        same->balance_factor = std::exp(levels[i]) / mean;
      }
    }
  }

  const WorkSeries& work_;
  const Peers& peers_;
  const Options& options_;
  std::size_t steps_;
  std::vector<double> apart_;    ///< by rank: by how much its peers differ for good
  std::vector<Strand> strands_;  ///< of ranks, of WorkSeries::shared, of classes
  std::size_t first_shared_ = 0;
  std::size_t first_class_ = 0;
  std::vector<Unit> units_;
  std::vector<SlowUnit> kinds_;  ///< by unit; without a finding
  std::vector<bool> is_explained_;
  std::vector<ReplicaVariation> variations_;
  std::vector<SlowUnit> found_;
};

}  // namespace

Measure measure_of(const WorkSeries& work, const std::vector<std::size_t>& members) {
  Measure measure;
  if (members.size() < 3) return measure;  // of two each is the other's measure
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

std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers,
                                 const Options& options) {
  return WorkJudge(work, peers, options).judge();
}

}  // namespace megascope::detect
