#include "analysis/detect/link_judge.h"

#include "analysis/detect/evidence.h"
#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace megascope::detect {
namespace {

constexpr std::size_t kMinPeers = 2;   ///< links of a group, from which they are compared
constexpr std::size_t kMinSteps = 5;   ///< active steps of a slow link
constexpr std::size_t kMinKnown = 4;   ///< steps with a message whose transfer time is known
constexpr double kMinNoise = 1e-3;     ///< standard deviation of a log transfer time
constexpr double kMinTail = 0.02;      ///< assumed fraction of a healthy link's outliers
constexpr double kMeasureNoise = 2.6;  ///< variance of the level of the group, times the number of
                                       ///< its links, over the variance of a link's mean
constexpr double kOfOwnNoise = 0.8;    ///< the noise is at least this fraction of the estimate from
                                       ///< the links of the group alone
constexpr double kUncertain = 2.0;     ///< standard errors by which the noise may be larger than
                                       ///< estimated
constexpr double kEfficiency = 0.4;    ///< statistical efficiency of a spread by medians
constexpr double kMinCount = 4.0;      ///< lower bound of the number of values
constexpr double kOfBelow = 1.05;      ///< factor on the estimate from the lower values
constexpr double kSurer = 1.2;         ///< added to the score that work needs: the noise of links
                                       ///< is known less well
constexpr double kClockErrors = 4.0;   ///< clock errors by which a slow link must be slower
constexpr double kFarApart = 6.0;      ///< permanent differences of the links of a group, in
                                       ///< standard deviations, that a slow link must exceed

/// Messages that were the only operation that their call waited for; or messages of calls that
/// waited for several, whose time is that of the longest. The two are not comparable.
enum class Measure : std::uint8_t { kAlone, kOthers };

/// Mean log transfer time by step, and the number of messages.
struct Series {
  std::vector<double> values;
  std::vector<double> counts;
  std::vector<double> known;  ///< values of the steps that have one
  double level = 0.0;
  double messages = 0.0;
};

Series series_of(const Link& link, Measure measure) {
  Series series;
  for (const Link::Step& step : link.steps) {
    const double count = measure == Measure::kAlone ? step.alone : step.others;
    const double sum = measure == Measure::kAlone ? step.sum_log : step.sum_log_others;
    series.counts.push_back(count);
    series.values.push_back(count > 0.0 ? sum / count : 0.0);
    series.messages += count;
    if (count > 0.0) series.known.push_back(series.values.back());
  }
  std::vector<double> known = series.known;
  series.level = median(known);
  return series;
}

using Key = std::tuple<std::uint32_t, bool, std::size_t, std::size_t, std::int32_t>;

/// Links that are compared with each other.
struct Group {
  std::vector<std::size_t> links;
  Measure measure = Measure::kAlone;
  bool is_wide = false;  ///< of any tag, between any classes
};

std::vector<Group> alike(const Reduced& reduced, const Peers& peers) {
  std::map<Key, std::vector<std::size_t>> narrow;
  for (std::size_t i = 0; i < reduced.links.size(); ++i) {
    const Link& link = reduced.links[i];
    narrow[{link.size_class, peers.host_of[link.from] == peers.host_of[link.to],
            peers.class_of[link.from], peers.class_of[link.to], link.tag}]
        .push_back(i);
  }
  std::map<Key, std::vector<std::size_t>> wide;
  std::vector<Group> groups;
  for (const auto& [key, links] : narrow) {
    groups.push_back({links, Measure::kAlone, false});
    groups.push_back({links, Measure::kOthers, false});
    if (links.size() < kMinPeers)
      wide[{std::get<0>(key), std::get<1>(key), 0, 0, 0}].push_back(links[0]);
  }
  for (auto& [key, links] : wide) groups.push_back({std::move(links), Measure::kAlone, true});
  return groups;
}

/// Values from which the standard deviation of one message's log transfer time is estimated:
/// changes from step to step, and distances from the level.
struct Scatter {
  std::vector<double> changes;
  std::vector<double> off;

  void add(const Series& series) {
    std::size_t before = series.values.size();
    for (std::size_t step = 0; step < series.values.size(); ++step) {
      if (series.counts[step] <= 0.0) continue;
      off.push_back((series.values[step] - series.level) * std::sqrt(series.counts[step]));
      if (before < step)
        changes.push_back((series.values[step] - series.values[before]) /
                          std::sqrt(1.0 / series.counts[step] + 1.0 / series.counts[before]));
      before = step;
    }
  }
  /// Returns the smallest of three estimates, since a slow interval increases some of them, plus
  /// kUncertain standard errors.
  double noise() const {
    std::vector<double> below = off;
    const double count = std::max(kMinCount, kEfficiency * static_cast<double>(off.size()));
    return std::min(
               {spread(changes), spread(off), kOfBelow * std::abs(quantile(below, kOneBelow))}) *
           (1.0 + kUncertain / std::sqrt(2.0 * count));
  }
};

using Kind = std::tuple<std::uint32_t, bool, Measure>;  ///< size class, is within a host, measure

/// Judges links, each by its peers and by its own past.
class LinkJudge {
 public:
  LinkJudge(const Reduced& reduced, const Peers& peers, const Options& options)
      : reduced_(reduced), peers_(peers), options_(options) {
    const std::vector<Group> groups = alike(reduced, peers);
    for (const Group& group : groups) {
      for (const std::size_t link : group.links)
        scatter_[kind_of(link, group.measure)].add(series_of(reduced.links[link], group.measure));
    }
    for (const Group& group : groups) add_group(group);
  }

  std::vector<Finding> judge() {
    const std::vector<Unit> units = make_units();
    const std::vector<Scan> scans = scan(strands_, units, std::log(options_.min_factor));
    const double threshold = score_threshold(options_) + kSurer;
    std::vector<Finding> findings(reduced_.links.size());
    for (std::size_t i = 0; i < units.size(); ++i) {
      if (scans[i].score < threshold) continue;
      double of_one = 0.0;  // the units of single strands come first
      for (const std::size_t strand : units[i].strands)
        of_one = std::max(of_one, scans[strand].score);
      if (scans[i].score < of_one) continue;
      const Finding finding = describe(strands_, units[i], scans[i], threshold);
      if (!is_worth_it(units[i], finding)) continue;
      for (const std::size_t strand : units[i].strands) {
        Finding& of_link = findings[link_of_[strand]];
        if (finding.score > of_link.score) of_link = finding;
      }
    }
    return findings;
  }

 private:
  Kind kind_of(std::size_t link, Measure measure) const {
    return {reduced_.links[link].size_class,
            peers_.host_of[reduced_.links[link].from] == peers_.host_of[reduced_.links[link].to],
            measure};
  }

  void add_group(const Group& group) {
    std::vector<std::size_t> links;
    std::vector<Series> all;
    Scatter own;
    double mean_inverse = 0.0;
    std::vector<double> levels;
    for (const std::size_t link : group.links) {
      Series series = series_of(reduced_.links[link], group.measure);
      if (series.known.size() < kMinKnown) continue;
      links.push_back(link);
      levels.push_back(series.level);
      own.add(series);
      mean_inverse += 1.0 / series.messages;
      all.push_back(std::move(series));
    }
    if (links.empty()) return;
    const auto count = static_cast<double>(links.size());
    const double noise = std::max({scatter_.at(kind_of(links[0], group.measure)).noise(),
                                   kOfOwnNoise * own.noise(), kMinNoise});
    for (std::size_t i = 0; i < links.size() && !group.is_wide; ++i)
      add_strand(links[i], all[i], true, levels[i], noise, 0.0);
    if (links.size() < kMinPeers) return;
    std::vector<double> sorted = levels;
    const double usual = quantile(sorted, kUsual);
    const double apart = kFarApart * spread_below(levels, usual);
    for (std::size_t i = 0; i < links.size(); ++i) {
      const double widened = std::sqrt(1.0 + kMeasureNoise / count * all[i].messages *
                                                 mean_inverse / count);  // the level is not exact
      add_strand(links[i], all[i], false, usual, noise * widened, apart);
    }
  }

  /// Adds a series. is_own: compare it with its own past, and not with `usual`.
  void add_strand(std::size_t link, const Series& series, bool is_own, double usual, double noise,
                  double apart) {
    std::vector<double> noises;
    for (const double count : series.counts)
      noises.push_back(count > 0.0 ? noise / std::sqrt(count) : 0.0);
    if (is_own) {
      strands_.push_back(
          strand_of_change(series.values, noises, kMinTail, std::log(options_.min_factor)));
    } else {
      strands_.push_back({series.values, noises, kMinTail, kMinTail, 0.0});
      for (double& value : strands_.back().values) value -= usual;
    }
    link_of_.push_back(link);
    is_own_.push_back(is_own);
    usual_.push_back(usual);
    apart_.push_back(apart);
  }

  /// Returns a unit for each strand, followed by one for all strands of both directions between two
  /// ranks: those compared with peers, and those compared with their own past.
  std::vector<Unit> make_units() const {
    std::vector<Unit> units;
    std::map<std::tuple<std::size_t, std::size_t, bool>, Unit> both;
    for (std::size_t i = 0; i < strands_.size(); ++i) {
      units.push_back({{i}, {1.0}, 0.0, false});
      const auto [low, high] = std::minmax(reduced_.links[link_of_[i]].from,
                                           reduced_.links[link_of_[i]].to);
      Unit& unit = both[{low, high, is_own_[i]}];
      unit.strands.push_back(i);
      unit.weights.push_back(1.0);
    }
    for (auto& [ends, unit] : both) {
      if (unit.strands.size() > 1) units.push_back(std::move(unit));
    }
    for (Unit& unit : units) unit.log_prior = -std::log(static_cast<double>(units.size()));
    return units;
  }

  bool is_worth_it(const Unit& unit, const Finding& finding) const {
    double usual = 0.0;
    double apart = 0.0;
    for (const std::size_t strand : unit.strands) {
      usual = std::max(usual, usual_[strand]);
      apart = std::max(apart, apart_[strand]);
    }
    const double excess_ns = std::exp(usual) * std::expm1(finding.excess);
    return finding.active_steps >= kMinSteps && std::exp(finding.excess) >= options_.min_factor &&
           finding.excess > apart && excess_ns > kClockErrors * options_.clock_error_ns;
  }

  const Reduced& reduced_;
  const Peers& peers_;
  const Options& options_;
  std::map<Kind, Scatter> scatter_;
  std::vector<Strand> strands_;
  std::vector<std::size_t> link_of_;  ///< by strand, like the following members
  std::vector<bool> is_own_;          ///< compared with its own past
  std::vector<double> usual_;         ///< log transfer time in ns
  std::vector<double> apart_;         ///< excess that a slow link must exceed, as log factor
};

}  // namespace

std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers,
                                const Options& options) {
  return LinkJudge(reduced, peers, options).judge();
}

}  // namespace megascope::detect
