#include "analysis/detect/link_judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/detect/statistics.h"

namespace megascope::detect {
namespace {

constexpr double kClip = 3.0;
constexpr double kUsual = 1.0 / 3.0;
constexpr std::size_t kLeastPeers = 2;
constexpr double kRareAlone = 0.02;     ///< the same of a link without peers
constexpr double kRareStep = 0.01;      ///< of a healthy link's steps are far off
constexpr double kSharedNoise = 1.6;   ///< of what peers vary by, where a link's own noise is not asked for
constexpr std::size_t kLeastSteps = 3;
constexpr double kLeastNoise = 1e-3;
constexpr double kOwnNoise = 1.2;      ///< estimated from few messages
constexpr double kShareOfRate = 0.1;   ///< of false alarms: their noise is less well known than that of work
constexpr double kClockErrors = 4.0;
constexpr double kFarApart = 6.0;  ///< times what links are apart for good

/// Mean log transfer by step; of a step without a message the link's usual one. Empty: too few steps have any.
std::vector<double> series_of(const Link& link, bool with_others) {
  std::vector<double> seen;
  std::vector<double> series;
  for (const Link::Step& step : link.steps) {
    const double count = step.alone + (with_others ? step.others : 0);
    const double sum = step.sum_log + (with_others ? step.sum_log_others : 0.0F);
    series.push_back(count > 0.0 ? sum / count : 0.0);
    if (count > 0.0) seen.push_back(series.back());
  }
  if (2 * seen.size() < series.size() || seen.size() < 4) return {};
  const double middle = median(seen);
  for (double& value : series) {
    if (value == 0.0) value = middle;
  }
  return series;
}

using Key = std::tuple<std::uint32_t, bool, std::size_t, std::size_t, std::int32_t>;

/// Links that can be measured by each other, and what of them.
struct Group {
  std::vector<std::size_t> links;
  bool with_others = true;   ///< their calls wait for the same things
  bool is_alone = false;     ///< each is measured by its own past
};

std::vector<Group> alike(const Reduced& reduced, const Peers& peers) {
  std::map<Key, std::vector<std::size_t>> narrow;
  for (std::size_t i = 0; i < reduced.links.size(); ++i) {
    const Link& link = reduced.links[i];
    narrow[{link.size_class, peers.host_of[link.from] == peers.host_of[link.to], peers.class_of[link.from], peers.class_of[link.to], link.tag}].push_back(i);
  }
  std::map<Key, std::vector<std::size_t>> wide;
  std::vector<Group> groups;
  for (auto& [key, links] : narrow) {
    if (links.size() >= kLeastPeers) {
      groups.push_back({std::move(links), true, false});
      continue;
    }
    for (const std::size_t link : links) {
      wide[{std::get<0>(key), std::get<1>(key), 0, 0, 0}].push_back(link);
      groups.push_back({{link}, true, true});
    }
  }
  for (auto& [key, links] : wide) {
    if (links.size() >= kLeastPeers) groups.push_back({std::move(links), false, false});
  }
  return groups;
}

/// What a finding is measured from: the peers' level, or the series' own outside of the interval.
Finding judge_link(const std::vector<double>& series, double usual, double noise, double shared_noise, bool is_alone, double threshold) {
  double level = usual;
  const auto standardise = [&] {
    std::vector<double> clipped;
    for (const double value : series) clipped.push_back(std::clamp((value - level) / noise, -kClip, kClip));
    return clipped;
  };
  std::vector<double> clipped = standardise();
  const Interval interval = is_alone ? highest_against_rest(clipped) : highest_interval(clipped);
  if (interval.z < threshold) return find_exceedances(series, level, shared_noise, is_alone ? kRareAlone : kRareStep, threshold);
  if (is_alone) {
    std::vector<double> outside;
    for (std::size_t step = 0; step < series.size(); ++step) {
      if (step < interval.first || step > interval.last) outside.push_back(series[step]);
    }
    level = median(outside);
    clipped = standardise();
  }
  return describe(series, level, noise, clipped, interval.z, threshold);
}

void judge_group(const Reduced& reduced, const Group& group, const Options& options, std::vector<Finding>& findings) {
  std::vector<std::size_t> links;
  std::vector<std::vector<double>> series;
  std::vector<double> levels;
  std::vector<double> noises;
  std::vector<double> lower_noises;
  for (const std::size_t link : group.links) {
    std::vector<double> one = series_of(reduced.links[link], group.with_others);
    if (one.empty()) continue;
    std::vector<double> values = one;
    links.push_back(link);
    levels.push_back(median(values));
    noises.push_back(std::max(noise_of(one), noise_of_differences(one)));
    lower_noises.push_back(noise_of(one));
    series.push_back(std::move(one));
  }
  if (links.size() < (group.is_alone ? 1 : kLeastPeers)) return;
  std::vector<double> sorted = noises;
  const double pooled = median(sorted);
  const double shared = std::max(kSharedNoise * median(lower_noises), kLeastNoise);
  sorted = levels;
  const double usual = quantile(sorted, kUsual);
  const double apart = group.is_alone ? 0.0 : kFarApart * spread_below(levels, usual);
  const double threshold = z_threshold(kShareOfRate * options.false_alarm_rate, reduced.links.size(), reduced.step_count);
  const double widened = group.is_alone ? 1.0 : std::sqrt(1.0 + 2.0 / static_cast<double>(links.size()));
  for (std::size_t i = 0; i < links.size(); ++i) {
    const double noise = kOwnNoise * std::max({pooled, noises[i], kLeastNoise}) * widened;
    Finding finding = judge_link(series[i], group.is_alone ? levels[i] : usual, noise, shared * widened, group.is_alone, threshold);
    const double excess_ns = std::exp(usual) * std::expm1(finding.excess);
    const bool is_clear = std::exp(finding.excess) >= options.least_factor && finding.excess > apart && excess_ns > kClockErrors * options.clock_error_ns;
    if (is_clear && finding.active_steps >= kLeastSteps && finding.z > findings[links[i]].z) findings[links[i]] = std::move(finding);
  }
}

}  // namespace

std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options) {
  std::vector<Finding> findings(reduced.links.size());
  for (const Group& group : alike(reduced, peers)) judge_group(reduced, group, options, findings);
  return findings;
}

}  // namespace megascope::detect
