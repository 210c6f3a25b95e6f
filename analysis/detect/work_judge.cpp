#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/detect/statistics.h"

namespace megascope::detect {
namespace {

constexpr double kClip = 3.0;            ///< standard deviations: pauses are no slow work
constexpr std::size_t kLeastSteps = 3;
constexpr double kUsual = 1.0 / 3.0;
constexpr double kFarApart = 4.0;        ///< times what peers are apart for good
constexpr double kFar = 3.5;             ///< standard deviations
constexpr double kLeastTail = 0.01;      ///< share of a healthy rank's steps that are far off, at least
constexpr double kMeasureNoise = 1.5;    ///< variance of a class's lower third, times its members, in those of a rank
constexpr double kRateMargin = 0.005;    ///< of the false alarms asked for: noise and tails are estimated from few steps

/// How often healthy ranks are far off: that half of them that is least often, and what chance may hide. far: steps, by rank.
double usual_share(std::vector<double> far, std::size_t steps) {
  if (far.empty()) return kLeastTail;
  std::sort(far.begin(), far.end());
  const std::size_t half = (far.size() + 1) / 2;
  const double hits = std::accumulate(far.begin(), far.begin() + static_cast<std::ptrdiff_t>(half), 0.0);
  return std::clamp((hits + 1.0 + std::sqrt(hits)) / static_cast<double>(half * steps), kLeastTail, 0.5);
}

double far_steps(const Strand& strand, double deviations) {
  double far = 0.0;
  for (std::size_t step = 0; step < strand.values.size(); ++step) far += strand.values[step] > deviations * strand.noise[step] ? 1.0 : 0.0;
  return far;
}

/// Of strands of ranks; those without noise have no peers.
void set_tails(std::vector<Strand>& strands, std::size_t steps) {
  std::vector<double> off;
  std::vector<double> far;
  for (const Strand& strand : strands) {
    if (strand.noise.empty() || strand.noise[0] <= 0.0) continue;
    off.push_back(far_steps(strand, kFar));
    far.push_back(far_steps(strand, kFarOff));
  }
  const double tail_share = usual_share(std::move(off), steps);
  const double far_share = usual_share(std::move(far), steps);
  for (Strand& strand : strands) {
    strand.tail_share = tail_share;
    strand.far_share = far_share;
  }
}

bool is_worth_it(const Finding& finding, const Options& options, double height = 0.0) {
  return finding.active_steps >= kLeastSteps && std::exp(std::max(finding.excess, height)) >= options.least_factor;
}

/// Beside what it is in the middle: a steady machine shows the least unevenness of a rank that is slow all the time.
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
  for (std::size_t step = 0; step < series.size(); ++step) (finding.is_active[step] ? inside : outside).push_back(series[step]);
  return inside.empty() || outside.empty() ? 0.0 : median(inside) - median(outside);
}

/// Strands of ranks by index, then of classes; and the units made of them.
class WorkJudge {
 public:
  WorkJudge(const WorkSeries& work, const Peers& peers, const Options& options)
      : work_(work), peers_(peers), options_(options), steps_(work.excess.empty() ? 0 : work.excess[0].size()), apart_(work.excess.size(), 0.0) {
    for (const auto& series : work.excess) strands_.push_back({series, std::vector<double>(steps_, 0.0), kLeastTail, kLeastTail, 0.0});
    for (const auto& members : peers.classes) add_rank_strands(members);
    set_tails(strands_, steps_);
    if (peers.classes.size() > 1) add_class_strands();
  }

  std::vector<SlowUnit> judge() {
    add_units();
    const std::vector<Scan> scans = scan(strands_, units_, std::log(options_.least_factor));
    std::vector<std::size_t> order(units_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scans[a].score > scans[b].score; });
    is_explained_.assign(strands_.size(), false);
    for (const std::size_t i : order) {
      if (scans[i].score < score_threshold(options_)) break;
      if (is_free(units_[i])) settle(i, scans);
    }
    if (peers_.is_pipeline) judge_stages();
    return std::move(found_);
  }

 private:
  void add_rank_strands(const std::vector<std::size_t>& members) {
    if (members.size() < 2) return;
    std::vector<double> levels;
    for (const std::size_t rank : members) {
      std::vector<double> values = work_.excess[rank];
      levels.push_back(median(values));
    }
    const bool is_pair = members.size() == 2;
    const double level = is_pair ? 0.0 : quantile(levels, kUsual);
    const double apart = is_pair ? 0.0 : kFarApart * spread_below(levels, level);
    const double widened = is_pair ? 1.0 : std::sqrt(1.0 + kMeasureNoise / static_cast<double>(members.size()));
    for (const std::size_t rank : members) {
      apart_[rank] = apart;
      Strand& strand = strands_[rank];
      for (double& value : strand.values) value -= level;
      strand.noise.assign(steps_, work_.noise[rank] * widened);
    }
  }

  void add_class_strands() {
    const std::size_t count = peers_.classes.size();
    const double least = std::log(options_.least_factor);
    if (count > 2) {
      for (std::size_t i = 0; i < count; ++i) strands_.push_back(strand_of_change(work_.class_level[i], std::vector<double>(steps_, work_.class_noise[i]), kLeastTail, least));
      return;
    }
    // Of two classes each is the other's measure: what is common to both does not count.
    std::vector<double> difference;
    for (std::size_t step = 0; step < steps_; ++step) difference.push_back(work_.class_level[0][step] - work_.class_level[1][step]);
    const double noise = std::max(noise_of(difference), std::hypot(work_.class_least_noise[0], work_.class_least_noise[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      strands_.push_back(strand_of_change(difference, std::vector<double>(steps_, noise), kLeastTail, least));
      for (double& value : difference) value = -value;
    }
  }

  /// Strands of the ranks: a class that is in it as a whole is its own measure. Empty: nothing tells whether they are slow.
  Unit unit_of(const std::vector<std::size_t>& ranks) const {
    std::vector<std::vector<std::size_t>> by_class(peers_.classes.size());
    for (const std::size_t rank : ranks) by_class[peers_.class_of[rank]].push_back(rank);
    Unit unit;
    for (std::size_t i = 0; i < by_class.size(); ++i) {
      const auto inside = static_cast<double>(by_class[i].size());
      const auto all = static_cast<double>(peers_.classes[i].size());
      if (inside == 0.0) continue;
      if (inside == all) {
        if (peers_.classes.size() < 2) return {};
        unit.strands.push_back(work_.excess.size() + i);
        unit.weights.push_back(1.0);
        continue;
      }
      for (const std::size_t rank : by_class[i]) {
        unit.strands.push_back(rank);
        unit.weights.push_back(all == 2.0 ? 1.0 : (all + kMeasureNoise) / (all + inside * kMeasureNoise));
      }
    }
    return unit;
  }

  void add_unit(Together kind, std::size_t index, std::size_t count, const std::vector<std::size_t>& ranks) {
    constexpr double kKinds = 4.0;
    Unit unit = unit_of(ranks);
    if (unit.strands.empty()) return;
    unit.log_prior = -std::log(kKinds * static_cast<double>(count));
    unit.may_be_uneven = kind == Together::kReplica;
    units_.push_back(std::move(unit));
    kinds_.push_back({kind, index, ranks, {}});
  }

  void add_units() {
    for (std::size_t i = 0; i < peers_.replicas.size(); ++i) add_unit(Together::kReplica, i, peers_.replicas.size(), peers_.replicas[i]);
    for (std::size_t i = 0; i < peers_.hosts.size() && peers_.hosts.size() > 1; ++i) {
      if (peers_.hosts[i].size() > 1) add_unit(Together::kHost, i, peers_.hosts.size(), peers_.hosts[i]);
    }
    for (std::size_t i = 0; i < peers_.classes.size() && peers_.classes.size() > 1; ++i) {
      add_unit(Together::kClass, i, peers_.classes.size(), peers_.classes[i]);
    }
    for (std::size_t rank = 0; rank < work_.excess.size(); ++rank) {
      if (peers_.classes[peers_.class_of[rank]].size() > 1) add_unit(Together::kRank, rank, work_.excess.size(), {rank});
    }
  }

  bool is_free(const Unit& unit) const {
    return std::none_of(unit.strands.begin(), unit.strands.end(), [&](std::size_t strand) { return is_explained_[strand]; });
  }

  /// Of units that are the same ranks, which is it? Index of the unit.
  std::size_t same_as(std::size_t chosen, const std::vector<Scan>& scans) const {
    std::size_t of[4] = {units_.size(), units_.size(), units_.size(), units_.size()};
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (units_[i].strands == units_[chosen].strands) of[static_cast<std::size_t>(kinds_[i].kind)] = i;
    }
    const auto [rank, host, replica, whole] = of;
    const auto is_there = [&](std::size_t unit) { return unit != units_.size(); };
    const bool has_other = is_there(rank) || is_there(host) || is_there(whole);
    if (is_there(replica) && (!has_other || is_uneven(replica, scans[replica]))) return replica;
    if (is_there(rank)) return rank;
    if (is_there(host) && is_there(whole)) return describe(strands_, units_[host], scans[host], 0.0).onset <= 1 ? whole : host;
    return is_there(host) ? host : whole;
  }

  /// By what its ranks have in common, whose noise falls with their number.
  bool is_uneven(std::size_t replica, const Scan& found) const {
    const Unit& unit = units_[replica];
    Strand mean{std::vector<double>(steps_, 0.0), std::vector<double>(steps_, 0.0), strands_[unit.strands[0]].tail_share, strands_[unit.strands[0]].far_share, 0.0};
    const auto count = static_cast<double>(unit.strands.size());
    const double noise_share = 1.0 / std::sqrt(count * unit.weights[0]) / count;
    for (const std::size_t strand : unit.strands) {
      for (std::size_t step = 0; step < steps_; ++step) {
        mean.values[step] += strands_[strand].values[step] / count;
        mean.noise[step] += strands_[strand].noise[step] * noise_share;
      }
    }
    const Scan scanned = scan({mean}, {{{0}, {1.0}, 0.0, true}}, std::log(options_.least_factor))[0];
    const auto begin = mean.values.begin();
    return scanned.uneven_score > scanned.even_score &&
           varies_by_much({begin + static_cast<std::ptrdiff_t>(found.first), begin + static_cast<std::ptrdiff_t>(found.last + 1)});
  }

  /// What all classes have in common is no class's fault: those that are not in the unit must not have changed alike. Of two
  /// classes, whose difference was judged, the one that changed itself is slow.
  bool changed_itself(const Unit& unit, const Finding& finding) const {
    const std::size_t ranks = work_.excess.size();
    const std::size_t last = unit.strands.back();
    if (last < ranks) return true;
    const std::size_t count = peers_.classes.size();
    if (count == 2) return rise_of(work_.class_level[last - ranks], finding) > -rise_of(work_.class_level[1 - (last - ranks)], finding);
    std::vector<double> others;
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_inside = std::find(unit.strands.begin(), unit.strands.end(), ranks + i) != unit.strands.end();
      if (!is_inside) others.push_back(rise_of(work_.class_level[i], finding));
    }
    return others.empty() || median(others) < 0.5 * finding.excess;
  }

  void settle(std::size_t chosen, const std::vector<Scan>& scans) {
    const std::size_t named = same_as(chosen, scans);
    const Finding finding = describe(strands_, units_[named], scans[named], score_threshold(options_));
    double apart = 0.0;
    for (const std::size_t rank : kinds_[named].ranks) apart = std::max(apart, apart_[rank]);
    if (!is_worth_it(finding, options_, scans[named].is_uneven ? 1.001 * scans[named].height : 0.0) || finding.excess <= apart) return;
    if (!changed_itself(units_[named], finding)) return;
    for (const std::size_t one : units_[named].strands) is_explained_[one] = true;
    found_.push_back(kinds_[named]);
    found_.back().finding = finding;
  }

  /// Against the other stages: slow since the first step.
  void judge_stages() {
    std::vector<double> levels;
    for (std::vector<double> level : work_.class_level) levels.push_back(median(level));
    std::vector<double> sorted = levels;
    const double usual = quantile(sorted, kUsual);
    const double threshold = score_threshold(options_) + std::log(static_cast<double>(levels.size()));
    for (std::size_t i = 0; i < levels.size(); ++i) {
      const double z = (levels[i] - usual) / (work_.class_noise[i] * std::sqrt(4.0 / static_cast<double>(steps_)));
      if (is_explained_[work_.excess.size() + i] || z < std::sqrt(2.0 * threshold)) continue;
      Finding finding;
      finding.last = steps_ - 1;
      finding.is_active.assign(steps_, true);
      finding.active_steps = steps_;
      finding.excess = levels[i] - usual;
      finding.score = 0.5 * z * z;
      finding.threshold = threshold;
      if (is_worth_it(finding, options_)) found_.push_back({Together::kClass, i, peers_.classes[i], finding});
    }
  }

  const WorkSeries& work_;
  const Peers& peers_;
  const Options& options_;
  std::size_t steps_;
  std::vector<double> apart_;    ///< by rank: by how much its peers differ for good
  std::vector<Strand> strands_;
  std::vector<Unit> units_;
  std::vector<SlowUnit> kinds_;  ///< by unit; without a finding
  std::vector<bool> is_explained_;
  std::vector<SlowUnit> found_;
};

}  // namespace

double score_threshold(const Options& options) { return -std::log(kRateMargin * options.false_alarm_rate); }

Finding describe(const std::vector<Strand>& strands, const Unit& unit, const Scan& scan, double threshold) {
  Finding finding;
  finding.onset = scan.first;
  finding.last = scan.last;
  finding.score = scan.score;
  finding.threshold = threshold;
  finding.is_active = active_steps(strands, unit, scan);
  if (scan.is_uneven) std::fill(finding.is_active.begin() + static_cast<std::ptrdiff_t>(scan.first), finding.is_active.begin() + static_cast<std::ptrdiff_t>(scan.last + 1), true);
  while (finding.onset < finding.last && !finding.is_active[finding.onset]) ++finding.onset;
  while (finding.last > finding.onset && !finding.is_active[finding.last]) --finding.last;
  double noise = 0.0;
  std::vector<double> values;
  for (std::size_t step = scan.first; step <= scan.last; ++step) {
    if (!finding.is_active[step]) continue;
    ++finding.active_steps;
    for (const std::size_t strand : unit.strands) {
      if (strands[strand].noise[step] <= 0.0) continue;
      values.push_back(strands[strand].values[step]);
      noise = std::max(noise, strands[strand].noise[step]);
    }
  }
  const double middle = median(values);
  const double range = kClip * (scan.is_uneven ? std::max(noise, scan.height) : noise);
  for (const double value : values) finding.excess += std::clamp(value, middle - range, middle + range) / static_cast<double>(values.size());
  return finding;
}

double spread_below(const std::vector<double>& levels, double usual) {
  std::vector<double> off;
  for (const double level : levels) {
    if (level <= usual) off.push_back(usual - level);
  }
  return off.size() < 2 ? 0.0 : 1.4826 * quantile(off, 0.6);
}

std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers, const Options& options) {
  return WorkJudge(work, peers, options).judge();
}

std::vector<Finding> stalled_ranks(const WorkSeries& work, const Options& options) {
  constexpr double kLeastStall = 0.004;  // of the step's work
  constexpr double kStallNoise = 0.7;    // of what independent parts make the step vary: the longest part, beyond what it usually is
  std::vector<Strand> strands;
  for (std::size_t rank = 0; rank < work.stall.size(); ++rank) {
    Strand strand{work.stall[rank], {}, kLeastTail, kLeastTail, 0.0};
    std::vector<double> sorted = work.stall[rank];
    const double usual = quantile(sorted, kUsual);
    const double noise = std::max(0.25 * kLeastStall, kStallNoise * work.independent[rank]);
    strand.noise.assign(strand.values.size(), noise);
    for (double& value : strand.values) value -= std::min(usual, 2.0 * noise);
    strands.push_back(std::move(strand));
  }
  set_tails(strands, work.stall.empty() ? 1 : work.stall[0].size());
  std::vector<Unit> units;
  for (std::size_t rank = 0; rank < strands.size(); ++rank) {
    units.push_back({{rank}, {1.0}, -std::log(static_cast<double>(strands.size())), false});
  }
  const std::vector<Scan> scans = scan(strands, units, std::log(options.least_factor));
  std::vector<Finding> findings(strands.size());
  for (std::size_t rank = 0; rank < strands.size(); ++rank) {
    if (scans[rank].score < score_threshold(options)) continue;
    Finding finding = describe(strands, units[rank], scans[rank], score_threshold(options));
    finding.excess = std::log1p(finding.excess);
    if (is_worth_it(finding, options)) findings[rank] = std::move(finding);
  }
  return findings;
}

}  // namespace megascope::detect
