#include "analysis/detect/work_judge.h"

#include "analysis/detect/dragged_classes.h"
#include "analysis/detect/ranks_of_host.h"
#include "analysis/detect/replica_variation.h"
#include "analysis/detect/statistics.h"
#include "analysis/detect/work_units.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kMinRemainder = 0.35;  ///< fraction of a class's excess that slow ranks in it must
                                        ///< leave unexplained

constexpr double kMaxRiseOfOthers = 0.5;  ///< fraction of a class's excess by which the other
                                          ///< classes may have risen in the same steps: the class
                                          ///< must have risen by more than twice as much
/// Variance of a class's level relative to the other classes, times the number of steps, over the
/// variance in one step. Independent normal noise that is equal in all classes gives π: π/2 for a
/// median, twice that for a difference. The rest is a margin.
constexpr double kLevelVariance = 4.0;
constexpr double kLittle = 0.015;  ///< log factor; machines differ that much for a while

/// Returns whether an excess varies much compared with its median. On a steady machine even a rank
/// that is always slow seems slightly uneven; that must not count. usual_range: fifth_range() that
/// the excess would have if it did not vary. min_share: of the median.
bool varies_by_much(std::vector<double> excess, double usual_range, double min_share) {
  const double range = fifth_range(excess);
  const double own = std::sqrt(std::max(0.0, range * range - usual_range * usual_range));
  return own > min_share * std::fabs(median(excess));
}

/// Returns how much higher a series is in the finding's active steps than in the others: difference
/// of medians; 0 if there are no others.
double rise_of(const std::vector<double>& series, const Finding& finding) {
  std::vector<double> inside;
  std::vector<double> outside;
  for (std::size_t step = 0; step < series.size(); ++step)
    (finding.is_active[step] ? inside : outside).push_back(series[step]);
  return inside.empty() || outside.empty() ? 0.0 : median(inside) - median(outside);
}

/// Selects the slow units, best score first, and decides by which of several units with the same
/// ranks each is reported.
class WorkJudge {
 public:
  WorkJudge(const WorkSeries& work, const Peers& peers, const Options& options)
      : work_(work),
        peers_(peers),
        options_(options),
        steps_(work.excess.empty() ? 0 : work.excess[0].size()),
        tested_(work_units(work, peers, options)),
        variations_(replica_variations(work, peers)) {}

  std::vector<SlowUnit> judge() {
    const std::vector<Scan> scans = scan(tested_.strands, tested_.units,
                                         std::log(options_.min_factor));
    std::vector<std::size_t> order(tested_.units.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scans[a].score > scans[b].score; });
    is_explained_.assign(tested_.strands.size(), false);
    // Work in which a class synchronises with a slow rank makes the class slow, too. If there is
    // such work, classes are therefore judged last.
    const auto is_late = [&](std::size_t unit) {
      return !work_.shared.empty() && tested_.kinds[unit].kind == Together::kClass;
    };
    std::stable_partition(order.begin(), order.end(),
                          [&](std::size_t unit) { return !is_late(unit); });
    for (const std::size_t i : order) {
      if (scans[i].score >= score_threshold(options_) && is_free(tested_.units[i]))
        settle(i, scans);
    }
    if (peers_.is_pipeline) judge_stages();
    add_varying_replicas();
    return std::move(found_);
  }

 private:
  bool is_free(const Unit& unit) const {
    return std::none_of(unit.strands.begin(), unit.strands.end(),
                        [&](std::size_t strand) { return is_explained_[strand]; });
  }

  /// Returns the index of the unit to report, of all units with the same strands as `chosen`: for
  /// example, a host with a single rank and that rank.
  std::size_t same_as(std::size_t chosen, const std::vector<Scan>& scans) const {
    std::size_t of[] = {tested_.units.size(), tested_.units.size(), tested_.units.size(),
                        tested_.units.size(), tested_.units.size()};
    for (std::size_t i = 0; i < tested_.units.size(); ++i) {
      if (tested_.units[i].strands == tested_.units[chosen].strands)
        of[static_cast<std::size_t>(tested_.kinds[i].kind)] = i;
    }
    const auto [rank, host, replica, whole, synchronised] = of;
    const auto is_there = [&](std::size_t unit) { return unit != tested_.units.size(); };
    const bool has_other = is_there(rank) || is_there(host) || is_there(whole);
    if (is_there(replica) && (!has_other || is_uneven(replica, scans[replica]))) return replica;
    if (is_there(rank)) return rank;
    if (is_there(synchronised) && !is_there(host) && !is_there(whole)) return synchronised;
    if (is_there(host) && is_there(whole))
      return describe(tested_.strands, tested_.units[host], scans[host], 0.0).onset <= 1 ? whole
                                                                                         : host;
    return is_there(host) ? host : whole;
  }

  /// Returns whether the replica's work is uneven. Judges the mean of its ranks, whose noise falls
  /// with their number.
  bool is_uneven(std::size_t replica, const Scan& found) const {
    const Unit& unit = tested_.units[replica];
    Strand mean{std::vector<double>(steps_, 0.0), std::vector<double>(steps_, 0.0),
                tested_.strands[unit.strands[0]].tail_share,
                tested_.strands[unit.strands[0]].far_share, 0.0};
    const auto count = static_cast<double>(unit.strands.size());
    const double noise_share = 1.0 / std::sqrt(count * unit.weights[0]) / count;
    for (const std::size_t strand : unit.strands) {
      for (std::size_t step = 0; step < steps_; ++step) {
        mean.values[step] += tested_.strands[strand].values[step] / count;
        mean.noise[step] += tested_.strands[strand].noise[step] * noise_share;
      }
    }
    constexpr double kMinShareAlone = 0.6;  // half of what work has that is uniform from 0 on
    constexpr double kMinShareTogether = 0.25;
    const Scan scanned = scan({mean}, {{{0}, {1.0}, 0.0, true}}, std::log(options_.min_factor))[0];
    const auto begin = mean.values.begin();
    return scanned.uneven_score > scanned.even_score &&
           varies_by_much({begin + static_cast<std::ptrdiff_t>(found.first),
                           begin + static_cast<std::ptrdiff_t>(found.last + 1)},
                          usual_range_of(unit, median(mean.noise)),
                          unit.strands.size() == 1 ? kMinShareAlone : kMinShareTogether);
  }

  /// Returns the range, as fifth_range(), of the excess of a replica whose work does not vary.
  /// noise: its standard deviation. A single rank's work varies at least as that of its peers: by
  /// what the machine does to each.
  double usual_range_of(const Unit& unit, double noise) const {
    constexpr double kOfDeviation = 1.683;  // fifth_range() of a normal distribution
    if (unit.strands.size() > 1) return kOfDeviation * noise;
    const std::size_t rank = unit.strands[0];
    std::vector<double> peers;
    for (const std::size_t peer : peers_.classes[peers_.class_of[rank]]) {
      if (peer != rank) peers.push_back(work_.own_range[peer]);
    }
    return std::max(kOfDeviation * noise, median(peers));
  }

  /// Returns whether the unit's class changed, rather than all classes: the classes outside of the
  /// unit must not have changed likewise. With two classes only their difference was judged; the
  /// one that rose more is slow.
  bool changed_itself(const Unit& unit, const Finding& finding) const {
    const std::size_t ranks = tested_.first_class;
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
    return others.empty() || median(others) < kMaxRiseOfOthers * finding.excess;
  }

  /// Returns whether the unit is the synchronised work of a group with a rank that was found
  /// already.
  bool is_of_found_rank(std::size_t unit) const {
    if (tested_.kinds[unit].kind != Together::kSynchronised) return false;
    const std::vector<std::size_t>& members = tested_.kinds[unit].ranks;
    return std::any_of(found_.begin(), found_.end(), [&](const SlowUnit& found) {
      return found.kind == Together::kRank &&
             std::binary_search(members.begin(), members.end(), found.index);
    });
  }

  /// If exactly one member of a synchronising group is slow in its own work, returns that rank's
  /// unit, since it slows the group. Otherwise returns `named`.
  std::size_t rank_of_group(std::size_t named, const std::vector<Scan>& scans) const {
    if (tested_.kinds[named].kind != Together::kSynchronised) return named;
    std::size_t found = named;
    std::size_t count = 0;
    for (std::size_t i = 0; i < tested_.units.size(); ++i) {
      if (tested_.kinds[i].kind != Together::kRank || tested_.units[i].strands.size() != 1 ||
          scans[i].score < score_threshold(options_))
        continue;
      if (!std::binary_search(tested_.kinds[named].ranks.begin(), tested_.kinds[named].ranks.end(),
                              tested_.kinds[i].index) ||
          is_explained_[tested_.kinds[i].index])
        continue;
      found = i;
      ++count;
    }
    return count == 1 ? found : named;
  }

  /// If only synchronised work shows that a rank is slow, it is unknown which member of the group
  /// is slow: returns the group's unit. Otherwise returns `named`.
  std::size_t group_of_unsure(std::size_t named, const std::vector<Scan>& scans) const {
    constexpr double kSure = 4.0;  // Scan::score
    if (tested_.kinds[named].kind != Together::kRank || tested_.units[named].strands.size() < 2)
      return named;
    if (scans[named + 1].score > kSure) return named;  // its own work alone shows that it is slow
    const std::size_t rank = tested_.kinds[named].index;
    for (std::size_t i = 0; i < tested_.units.size(); ++i) {
      if (tested_.kinds[i].kind != Together::kSynchronised) continue;
      const std::vector<std::size_t>& members = tested_.kinds[i].ranks;
      if (members.size() > 1 && std::binary_search(members.begin(), members.end(), rank)) return i;
    }
    return named;
  }

  bool is_on_one_host(const std::vector<std::size_t>& ranks) const {
    return ranks.size() > 1 && std::all_of(ranks.begin(), ranks.end(), [&](std::size_t rank) {
             return peers_.host_of[rank] == peers_.host_of[ranks[0]];
           });
  }

  /// Returns the log factor by which healthy units of this kind differ; a finding must exceed it.
  double apart_of(std::size_t unit) const {
    const SlowUnit& tested = tested_.kinds[unit];
    const bool is_of_host = tested.kind == Together::kHost ||
                            (tested.kind == Together::kReplica && is_on_one_host(tested.ranks));
    double apart = is_of_host ? tested_.host_apart : 0.0;
    for (const std::size_t rank : tested.ranks) apart = std::max(apart, tested_.apart[rank]);
    return apart;
  }

  /// Returns the finding of a unit without some of its strands. Empty if none would be left.
  Finding without(std::size_t unit, const std::vector<std::size_t>& strands,
                  const Scan& found) const {
    Unit rest = tested_.units[unit];
    for (const std::size_t strand : strands) {
      const auto at = std::find(rest.strands.begin(), rest.strands.end(), strand);
      if (at == rest.strands.end()) continue;  // part of a class that is judged as a whole
      rest.weights.erase(rest.weights.begin() + (at - rest.strands.begin()));
      rest.strands.erase(at);
    }
    if (rest.strands.empty()) return {};
    return describe(tested_.strands, rest, found, score_threshold(options_));
  }

  /// Returns whether a host or replica seems slow because one of its ranks is much slower: without
  /// that rank, hardly anything is left. The rank is judged by itself.
  bool is_of_one_rank(std::size_t named, const std::vector<Scan>& scans,
                      const Finding& whole) const {
    constexpr double kMuchSlower = 3.0;
    const SlowUnit& tested = tested_.kinds[named];
    if (tested.kind != Together::kHost && tested.kind != Together::kReplica) return false;
    for (std::size_t i = 0; i < tested_.units.size(); ++i) {
      const std::size_t rank = tested_.kinds[i].index;
      if (tested_.kinds[i].kind != Together::kRank || scans[i].score < score_threshold(options_) ||
          !std::binary_search(tested.ranks.begin(), tested.ranks.end(), rank))
        continue;
      const Finding own = describe(tested_.strands, tested_.units[i], scans[i],
                                   score_threshold(options_));
      if (is_worth_it(own, options_) && own.excess > kMuchSlower * whole.excess &&
          own.excess > apart_of(i) &&
          without(named, {rank}, scans[named]).excess <= std::max(kLittle, apart_of(named)))
        return true;
    }
    return false;
  }

  bool is_found(const SlowUnit& rank) const {
    return std::any_of(found_.begin(), found_.end(), [&](const SlowUnit& found) {
      return found.kind == Together::kRank && found.index == rank.index;
    });
  }

  /// Adds ranks of the host just found that are slower than its other ranks. Restates how slow the
  /// host is without them; removes it if little is left.
  void add_ranks_of_host(std::size_t named, const Scan& scan) {
    std::vector<SlowUnit> ranks = slow_ranks_of_host(tested_, tested_.kinds[named], options_);
    if (ranks.empty()) return;
    std::vector<std::size_t> slower;
    for (const SlowUnit& rank : ranks) slower.push_back(rank.index);
    const Finding rest = without(named, slower, scan);
    const bool is_left = is_worth_it(rest, options_) &&
                         rest.excess > std::max(kLittle, apart_of(named));
    if (!is_left) found_.pop_back();
    if (is_left) found_.back().finding = rest;
    for (SlowUnit& rank : ranks) {
      if (is_found(rank)) continue;
      is_explained_[rank.index] = true;
      if (!is_left) rank.within.clear();
      found_.push_back(std::move(rank));
    }
  }

  void settle(std::size_t chosen, const std::vector<Scan>& scans) {
    if (is_of_found_rank(chosen)) {
      for (const std::size_t one : tested_.units[chosen].strands) is_explained_[one] = true;
      return;
    }
    const std::size_t named = group_of_unsure(rank_of_group(same_as(chosen, scans), scans), scans);
    const Finding finding = describe(tested_.strands, tested_.units[named], scans[named],
                                     score_threshold(options_));
    if (!is_worth_it(finding, options_,
                     scans[named].is_uneven ? 1.001 * scans[named].height : 0.0) ||
        finding.excess <= apart_of(named))
      return;
    if (!scans[named].is_uneven && is_of_one_rank(named, scans, finding)) return;
    if (!changed_itself(tested_.units[named], finding)) return;
    if (tested_.kinds[named].kind == Together::kClass &&
        finding.excess - dragged(work_, found_, tested_.kinds[named].index, finding) <
            kMinRemainder * finding.excess)
      return;
    for (const std::size_t one : tested_.units[named].strands) is_explained_[one] = true;
    for (const std::size_t one : tested_.units[chosen].strands) is_explained_[one] = true;
    found_.push_back(tested_.kinds[named]);
    found_.back().finding = finding;
    if (tested_.kinds[named].kind == Together::kHost) add_ranks_of_host(named, scans[named]);
    if (tested_.kinds[named].kind == Together::kReplica) {
      found_.back().is_uneven = is_uneven(named, scans[named]) ||
                                (!variations_.empty() &&
                                 variations_[tested_.kinds[named].index].is_there);
    }
  }

  /// Adds one finding for replicas whose work varies in all of them. It replaces findings of single
  /// units, except classes and findings that are much larger.
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

  /// Compares each stage with the other stages over the whole run, to find those that are slow
  /// since the first step. This replaces a finding of a change only if it is much larger.
  void judge_stages() {
    constexpr double kMuchMore = 2.0;
    const std::vector<double> levels = relative_levels(work_.class_level);
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
      if (is_explained_[tested_.first_class + i] && same == found_.end()) continue;
      const double z = (levels[i] - usual) /
                       (work_.class_noise[i] *
                        std::sqrt(kLevelVariance / static_cast<double>(steps_)));
      if (z < std::sqrt(2.0 * threshold)) continue;
      Finding finding;
      finding.last = steps_ - 1;
      finding.is_active.assign(steps_, true);
      finding.active_steps = steps_;
      finding.excess = levels[i] - usual;
      finding.score = 0.5 * z * z;
      finding.threshold = threshold;
      finding.excess -= dragged(work_, found_, i, finding);
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
  const WorkUnits tested_;
  std::vector<bool> is_explained_;
  std::vector<ReplicaVariation> variations_;
  std::vector<SlowUnit> found_;
};

}  // namespace

std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers,
                                 const Options& options) {
  return WorkJudge(work, peers, options).judge();
}

}  // namespace megascope::detect
