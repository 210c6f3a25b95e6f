#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/detect/statistics.h"

namespace megascope::detect {
namespace {

constexpr double kClip = 3.0;            ///< standard deviations: a few steps alone never pass a threshold, however far off
constexpr std::size_t kLeastSteps = 3;
constexpr std::size_t kLeastHits = 5;    ///< steps far off, for a finding made of them only
constexpr double kUsual = 1.0 / 3.0;
constexpr double kOften = 0.2;           ///< share of the steps between two that were slow, to be one stretch
constexpr double kUneven = 1.1;          ///< times the noise: median distance from the nearer level; 0.67 where even
constexpr double kFarApart = 4.0;        ///< times what peers are apart for good
constexpr double kRareStep = 0.01;       ///< of the steps of a healthy rank are far off, at most
constexpr double kRareStall = 0.02;      ///< of the steps of a healthy rank have a pause beyond what is common, at most
constexpr double kRareSmallStall = 0.03; ///< the same of any pause that noise does not explain
constexpr double kFar = 3.5;             ///< standard deviations

std::vector<double> standardised(const std::vector<double>& series, double level, double noise) {
  std::vector<double> values;
  for (const double value : series) values.push_back(std::clamp((value - level) / noise, -kClip, kClip));
  return values;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

bool is_worth_it(const Finding& finding, const Options& options) {
  return finding.active_steps >= kLeastSteps && std::exp(finding.excess) >= options.least_factor;
}

/// How often healthy ranks are far off: twice the mean over that half of them that is least often.
double usual_share(std::vector<double> shares) {
  std::sort(shares.begin(), shares.end());
  const double usual = mean(std::span(shares).first(std::max<std::size_t>(1, shares.size() / 2)));
  return std::clamp(2.0 * usual, kRareStep, 0.5);
}

double far_share(const WorkSeries& work, const std::vector<std::size_t>& members, double level) {
  std::vector<double> shares;
  for (const std::size_t rank : members) {
    const std::vector<double>& series = work.excess[rank];
    const auto far = std::count_if(series.begin(), series.end(), [&](double value) { return value - level > kFar * work.shared_noise[rank]; });
    shares.push_back(static_cast<double>(far) / static_cast<double>(series.size()));
  }
  return usual_share(std::move(shares));
}

/// Against its own past: a stretch that is higher than the rest.
Finding find_change(const std::vector<double>& series, double noise, std::size_t series_count, const Options& options) {
  std::vector<double> values = series;
  const std::vector<double> clipped = standardised(series, median(values), noise);
  const Interval interval = highest_against_rest(clipped);
  const double threshold = z_threshold(options.false_alarm_rate, series_count, series.size());
  if (interval.z < threshold) return find_exceedances(series, median(values), noise, kRareStep, threshold);
  std::vector<double> outside;
  for (std::size_t step = 0; step < series.size(); ++step) {
    if (step < interval.first || step > interval.last) outside.push_back(series[step]);
  }
  const double level = median(outside);
  return describe(series, level, noise, standardised(series, level, noise), interval.z, threshold);
}

/// How much higher a series is in the finding's steps than in the others.
double rise_of(const std::vector<double>& series, const Finding& finding) {
  std::vector<double> inside;
  std::vector<double> outside;
  for (std::size_t step = 0; step < series.size(); ++step) (finding.is_active[step] ? inside : outside).push_back(series[step]);
  return inside.empty() || outside.empty() ? 0.0 : median(inside) - median(outside);
}

/// Of two classes each is the other's measure: what is common to both does not count. The one that changed itself is slow.
void judge_pair(const WorkSeries& work, const Options& options, std::vector<Finding>& findings) {
  const std::vector<double>& first = work.class_level[0];
  const std::vector<double>& second = work.class_level[1];
  std::vector<double> difference;
  for (std::size_t step = 0; step < first.size(); ++step) difference.push_back(first[step] - second[step]);
  const double noise = std::max(noise_of(difference), std::hypot(work.class_least_noise[0], work.class_least_noise[1]));
  for (std::size_t i = 0; i < 2; ++i) {
    Finding finding = find_change(difference, noise, 2, options);
    const double own = finding.is_there() ? rise_of(work.class_level[i], finding) : 0.0;
    const double other = finding.is_there() ? rise_of(work.class_level[1 - i], finding) : 0.0;
    if (is_worth_it(finding, options) && own > -other) findings[i] = std::move(finding);
    for (double& value : difference) value = -value;
  }
}

}  // namespace

Finding find_exceedances(const std::vector<double>& series, double level, double noise, double share, double threshold) {
  std::vector<double> hits;
  for (const double value : series) hits.push_back(value - level > kFar * noise ? 1.0 : 0.0);
  const auto below = std::count_if(series.begin(), series.end(), [&](double value) { return value - level < -kFar * noise; });
  Finding finding = count_hits(hits, series, level, share, threshold);
  return 3 * static_cast<std::size_t>(below) > finding.active_steps ? Finding{} : finding;
}

Finding count_hits(const std::vector<double>& hits, const std::vector<double>& series, double level, double share, double threshold) {
  const Interval stretch = stretch_above(hits, kOften);
  Finding finding;
  finding.onset = stretch.first;
  finding.last = stretch.last;
  finding.is_active.assign(series.size(), false);
  for (std::size_t step = stretch.first; step <= stretch.last && stretch.z > 0.0; ++step) {
    if (hits[step] == 0.0) continue;
    finding.is_active[step] = true;
    finding.excess += series[step] - level;
    ++finding.active_steps;
  }
  const double log_chance = log_tail(finding.active_steps, stretch.last - stretch.first + 1, share);
  // The threshold's chance holds for all series, steps and lengths; stretches have one length and can lie in few places.
  const auto steps = static_cast<double>(series.size());
  const double places = 1.0 + 2.0 * steps / static_cast<double>(stretch.last - stretch.first + 1);
  const double log_limit = -0.5 * threshold * threshold + std::log(3.0 * std::log2(steps + 1.0) * steps / places / kRateMargin);
  if (finding.active_steps < kLeastHits || log_chance > log_limit) return {};
  finding.excess /= static_cast<double>(finding.active_steps);
  finding.threshold = threshold;
  finding.z = std::sqrt(threshold * threshold - 2.0 * (log_chance - log_limit));
  return finding;
}

Finding describe(const std::vector<double>& series, double level, double noise, const std::vector<double>& clipped, double z,
                 double threshold) {
  Finding finding;
  const Interval rough = highest_interval(clipped);
  const auto inside = std::span(clipped).subspan(rough.first, rough.last - rough.first + 1);
  const Interval stretch = stretch_above(clipped, 0.5 * mean(inside));
  finding.onset = stretch.first;
  finding.last = stretch.last;
  finding.z = z;
  finding.threshold = threshold;
  finding.is_active.assign(series.size(), false);
  std::vector<double> values(series.begin() + static_cast<std::ptrdiff_t>(stretch.first),
                             series.begin() + static_cast<std::ptrdiff_t>(stretch.last) + 1);
  for (double& value : values) value -= level;
  std::vector<double> sorted = values;
  const double top = quantile(sorted, 0.8);
  const auto low_count = std::count_if(values.begin(), values.end(), [&](double value) { return value < 0.4 * top; });
  const bool is_transient = top > 4.0 * noise && 5 * static_cast<std::size_t>(low_count) > values.size();
  std::vector<double> active;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (is_transient && values[i] < 0.5 * top) continue;
    finding.is_active[stretch.first + i] = true;
    active.push_back(values[i]);
  }
  finding.active_steps = active.size();
  const double middle = median(active);
  for (double& value : active) value = std::clamp(value, middle - kClip * noise, middle + kClip * noise);  // pauses are no slow work
  finding.excess = mean(active);
  return finding;
}

bool is_uneven(const std::vector<double>& series, double level, const Finding& finding, double noise) {
  std::vector<double> active;
  for (std::size_t step = finding.onset; step <= finding.last; ++step) {
    if (finding.is_active[step]) active.push_back(series[step] - level);
  }
  const double usual = median(active);
  std::vector<double> off;
  for (std::size_t step = finding.onset; step <= finding.last; ++step) {
    const double value = series[step] - level;
    off.push_back(std::min(std::abs(value), std::abs(value - usual)));
  }
  return median(off) > kUneven * noise;
}

/// How far apart healthy members are for good, from those at or below the usual level.
double spread_below(const std::vector<double>& levels, double usual) {
  std::vector<double> off;
  for (const double level : levels) {
    if (level <= usual) off.push_back(usual - level);
  }
  return off.size() < 2 ? 0.0 : 1.4826 * quantile(off, 0.6);
}

std::vector<Finding> slow_ranks(const WorkSeries& work, const Peers& peers, const Options& options) {
  std::vector<Finding> findings(work.excess.size());
  const std::size_t steps = work.excess.empty() ? 0 : work.excess[0].size();
  const double threshold = z_threshold(options.false_alarm_rate, work.excess.size(), steps);
  for (const auto& members : peers.classes) {
    if (members.size() < 2) continue;
    std::vector<double> levels;
    for (const std::size_t rank : members) {
      std::vector<double> values = work.excess[rank];
      levels.push_back(median(values));
    }
    const double level = members.size() == 2 ? 0.0 : quantile(levels, kUsual);
    const double apart = members.size() == 2 ? 0.0 : kFarApart * spread_below(levels, level);
    const double share = far_share(work, members, level);
    const double widened = members.size() == 2 ? 1.0 : std::sqrt(1.0 + 2.0 / static_cast<double>(members.size()));  // the level is not exact
    for (const std::size_t rank : members) {
      const double noise = work.noise[rank] * widened;
      const std::vector<double> clipped = standardised(work.excess[rank], level, noise);
      const double z = highest_interval(clipped).z;
      Finding finding = z < threshold ? find_exceedances(work.excess[rank], level, work.shared_noise[rank] * widened, share, threshold)
                                      : describe(work.excess[rank], level, noise, clipped, z, threshold);
      if (is_worth_it(finding, options) && finding.excess > apart) findings[rank] = std::move(finding);
    }
  }
  return findings;
}

std::vector<Finding> slow_classes(const WorkSeries& work, const Peers& peers, const Options& options) {
  const std::size_t count = peers.classes.size();
  std::vector<Finding> findings(count);
  if (count < 2) return findings;
  if (count == 2) judge_pair(work, options, findings);
  for (std::size_t i = 0; i < count && count > 2; ++i) {
    Finding finding = find_change(work.class_level[i], work.class_noise[i], count, options);
    if (is_worth_it(finding, options)) findings[i] = std::move(finding);
  }
  if (!peers.is_pipeline) return findings;
  std::vector<double> levels;
  for (std::vector<double> level : work.class_level) levels.push_back(median(level));
  std::vector<double> sorted = levels;
  const double usual = quantile(sorted, kUsual);
  for (std::size_t i = 0; i < count; ++i) {
    const auto steps = static_cast<double>(work.class_level[i].size());
    const double z = (levels[i] - usual) / (work.class_noise[i] * std::sqrt(4.0 / steps));
    const double threshold = z_threshold(options.false_alarm_rate, count, 1);
    if (z < threshold || findings[i].active_steps != 0) continue;
    const std::vector<double> clipped = standardised(work.class_level[i], usual, work.class_noise[i]);
    Finding finding = describe(work.class_level[i], usual, work.class_noise[i], clipped, z, threshold);
    if (is_worth_it(finding, options)) findings[i] = std::move(finding);
  }
  return findings;
}

namespace {

/// Ranks of which more steps have a stall of `least` or more than the others' do, and than `rare`.
std::vector<Finding> count_stalls(const WorkSeries& work, const std::vector<double>& least, double rare, const Options& options) {
  const std::size_t count = work.stall.size();
  std::vector<std::vector<double>> hits(count);
  std::vector<double> shares;
  for (std::size_t rank = 0; rank < count; ++rank) {
    for (const double stall : work.stall[rank]) hits[rank].push_back(stall > least[rank] ? 1.0 : 0.0);
    shares.push_back(mean(hits[rank]));
  }
  const double share = std::max(rare, usual_share(shares));
  const double threshold = z_threshold(options.false_alarm_rate, count, hits.empty() ? 1 : hits[0].size());
  std::vector<Finding> findings(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    Finding finding = count_hits(hits[rank], work.stall[rank], 0.0, share, threshold);
    finding.excess = std::log1p(finding.excess);
    if (is_worth_it(finding, options)) findings[rank] = std::move(finding);
  }
  return findings;
}

}  // namespace

std::vector<Finding> stalled_ranks(const WorkSeries& work, const Options& options) {
  constexpr double kLeastStall = 0.004;  // of the step's work
  constexpr double kStallNoise = 2.2;    // times what independent parts make the step vary: 5.8 of one part's own
  std::vector<double> least;
  std::vector<double> common;
  for (std::size_t rank = 0; rank < work.stall.size(); ++rank) {
    least.push_back(std::max(kLeastStall, kStallNoise * work.independent[rank]));
    std::vector<double> stalls = work.stall[rank];
    common.push_back(quantile(stalls, 0.95));
  }
  std::vector<Finding> findings = count_stalls(work, least, kRareSmallStall, options);
  // Where small pauses are common, larger ones are looked for.
  const double large = 1.3 * median(common);
  for (double& one : least) one = std::max(one, large);
  std::vector<Finding> others = count_stalls(work, least, kRareStall, options);
  for (std::size_t rank = 0; rank < findings.size(); ++rank) {
    if (!findings[rank].is_there()) findings[rank] = std::move(others[rank]);
  }
  return findings;
}

}  // namespace megascope::detect
