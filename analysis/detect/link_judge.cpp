#include "analysis/detect/link_judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "analysis/detect/statistics.h"

namespace megascope::detect {
namespace {

constexpr double kClip = 6.0;
constexpr double kUsual = 1.0 / 3.0;
constexpr std::size_t kLeastPeers = 3;
constexpr std::size_t kLeastSteps = 3;
constexpr double kLeastNoise = 1e-3;
constexpr double kClockErrors = 4.0;

/// log of the quickest transfer by step; of a step without a message the link's usual one. Empty: too few steps have any.
std::vector<double> series_of(const Link& link) {
  std::vector<double> seen;
  for (const float time_ns : link.shortest_ns) {
    if (time_ns > 0.0F) seen.push_back(std::log(static_cast<double>(time_ns)));
  }
  if (2 * seen.size() < link.shortest_ns.size() || seen.size() < 4) return {};
  const double middle = median(seen);
  std::vector<double> series;
  for (const float time_ns : link.shortest_ns) series.push_back(time_ns > 0.0F ? std::log(static_cast<double>(time_ns)) : middle);
  return series;
}

using Key = std::tuple<std::uint32_t, bool, std::size_t, std::size_t>;

std::vector<std::vector<std::size_t>> alike(const Reduced& reduced, const Peers& peers, const std::vector<std::vector<double>>& series) {
  const auto key_of = [&](const Link& link, bool with_classes) {
    const bool is_within = peers.host_of[link.from] == peers.host_of[link.to];
    return Key{link.size_class, is_within, with_classes ? peers.class_of[link.from] : 0, with_classes ? peers.class_of[link.to] : 0};
  };
  std::map<Key, std::vector<std::size_t>> narrow;
  for (std::size_t i = 0; i < reduced.links.size(); ++i) {
    if (!series[i].empty()) narrow[key_of(reduced.links[i], true)].push_back(i);
  }
  std::map<Key, std::vector<std::size_t>> wide;
  std::vector<std::vector<std::size_t>> groups;
  for (auto& [key, links] : narrow) {
    if (links.size() >= kLeastPeers) groups.push_back(std::move(links));
    else for (const std::size_t link : links) wide[key_of(reduced.links[link], false)].push_back(link);
  }
  for (auto& [key, links] : wide) groups.push_back(std::move(links));
  return groups;
}

void judge_group(const Reduced& reduced, const std::vector<std::size_t>& links, const std::vector<std::vector<double>>& series,
                 const Options& options, std::vector<Finding>& findings) {
  std::vector<double> levels;
  double pooled = 0.0;
  std::vector<double> noises;
  for (const std::size_t link : links) {
    std::vector<double> values = series[link];
    levels.push_back(median(values));
    noises.push_back(noise_of(series[link]));
  }
  pooled = median(noises);
  std::vector<double> sorted = levels;
  const double usual = quantile(sorted, kUsual);
  const double threshold = z_threshold(options.false_alarm_rate, reduced.links.size(), reduced.step_count);
  for (const std::size_t link : links) {
    const bool is_alone = links.size() < 2;
    const double noise = std::max({pooled, noise_of(series[link]), kLeastNoise}) * std::sqrt(1.0 + 2.0 / static_cast<double>(links.size()));
    double level = usual;
    const auto standardise = [&] {
      std::vector<double> clipped;
      for (const double value : series[link]) clipped.push_back(std::clamp((value - level) / noise, -kClip, kClip));
      return clipped;
    };
    std::vector<double> clipped = standardise();
    Interval interval = is_alone ? highest_against_rest(clipped) : highest_interval(clipped);
    if (interval.z < threshold) continue;
    if (is_alone) {
      std::vector<double> outside;
      for (std::size_t step = 0; step < series[link].size(); ++step) {
        if (step < interval.first || step > interval.last) outside.push_back(series[link][step]);
      }
      level = median(outside);
      clipped = standardise();
    }
    Finding finding = describe(series[link], level, noise, clipped, interval.z, threshold);
    const double excess_ns = std::exp(level) * std::expm1(finding.excess);
    const bool is_clear = std::exp(finding.excess) >= options.least_factor && excess_ns > kClockErrors * options.clock_error_ns;
    if (is_clear && finding.active_steps >= kLeastSteps) findings[link] = std::move(finding);
  }
}

}  // namespace

std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options) {
  std::vector<std::vector<double>> series;
  for (const Link& link : reduced.links) series.push_back(series_of(link));
  std::vector<Finding> findings(reduced.links.size());
  for (const auto& links : alike(reduced, peers, series)) judge_group(reduced, links, series, options, findings);
  return findings;
}

}  // namespace megascope::detect
