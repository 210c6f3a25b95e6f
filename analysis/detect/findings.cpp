#include "analysis/detect/findings.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kClip = 3.0;          ///< standard deviations; values further from the median are
                                       ///< clipped, since pauses are not slow work
constexpr std::size_t kMinSteps = 3;   ///< active steps of a finding
constexpr double kFar = 3.5;           ///< standard deviations from which a value is an outlier
constexpr double kRateMargin = 0.005;  ///< fraction of the requested false-alarm rate that is used:
                                       ///< noise and tails are estimated from few steps
constexpr std::size_t kFew = 4;        ///< ranks; half of them have too few steps
constexpr double kMaxTailShare = 0.5;  ///< upper bound of the assumed fraction of outliers
/// Quantile of the distances below the usual level that is used; converted to a standard deviation
/// like a median.
constexpr double kBelowShare = 0.6;

/// Returns the fraction of a healthy rank's steps that are outliers, from the ranks that have the
/// fewest: half of them; of kFew at most, all but one if that gives less. Adds 1 + √(number of
/// outliers) for chance. far: number of outliers by rank. least: lower bound.
double usual_share(std::vector<double> far, std::size_t steps, double least) {
  if (far.empty()) return least;
  std::sort(far.begin(), far.end());
  const std::size_t half = (far.size() + 1) / 2;
  double share = kMaxTailShare;
  double hits = 0.0;
  const std::size_t most = far.size() <= kFew ? std::max(half, far.size() - 1) : half;
  for (std::size_t rank = 0; rank < most; ++rank) {
    hits += far[rank];
    if (rank + 1 >= half)
      share = std::min(share,
                       (hits + 1.0 + std::sqrt(hits)) / static_cast<double>((rank + 1) * steps));
  }
  return std::max(share, least);
}

double far_steps(const Strand& strand, double deviations) {
  double far = 0.0;
  for (std::size_t step = 0; step < strand.values.size(); ++step)
    far += strand.values[step] > deviations * strand.noise[step] ? 1.0 : 0.0;
  return far;
}

}  // namespace

void set_tails(std::vector<Strand>& strands, std::size_t steps, double min_far_share) {
  std::vector<double> off;
  std::vector<double> far;
  for (const Strand& strand : strands) {
    if (strand.noise.empty() || strand.noise[0] <= 0.0) continue;
    off.push_back(far_steps(strand, kFar));
    far.push_back(far_steps(strand, kFarOff));
  }
  const double tail_share = usual_share(std::move(off), steps, kMinTailShare);
  const double far_share = usual_share(std::move(far), steps, min_far_share);
  for (Strand& strand : strands) {
    strand.tail_share = tail_share;
    strand.far_share = far_share;
  }
}

bool is_worth_it(const Finding& finding, const Options& options, double height) {
  return finding.active_steps >= kMinSteps &&
         std::exp(std::max(finding.excess, height)) >= options.min_factor;
}

double score_threshold(const Options& options) {
  return -std::log(kRateMargin * options.false_alarm_rate);
}

Finding describe(const std::vector<Strand>& strands, const Unit& unit, const Scan& scan,
                 double threshold) {
  Finding finding;
  finding.onset = scan.first;
  finding.last = scan.last;
  finding.score = scan.score;
  finding.threshold = threshold;
  finding.is_active = active_steps(strands, unit, scan);
  if (scan.is_uneven)
    std::fill(finding.is_active.begin() + static_cast<std::ptrdiff_t>(scan.first),
              finding.is_active.begin() + static_cast<std::ptrdiff_t>(scan.last + 1), true);
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
  for (const double value : values)
    finding.excess += std::clamp(value, middle - range, middle + range) /
                      static_cast<double>(values.size());
  return finding;
}

double spread_below(const std::vector<double>& levels, double usual) {
  std::vector<double> off;
  for (const double level : levels) {
    if (level <= usual) off.push_back(usual - level);
  }
  return off.size() < 2 ? 0.0 : kToDeviation * quantile(off, kBelowShare);
}

}  // namespace megascope::detect
