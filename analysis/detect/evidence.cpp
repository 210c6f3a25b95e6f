#include "analysis/detect/evidence.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kHeightRatio = 1.35;
constexpr double kMaxHeight = 6.0;
constexpr double kSmear = 0.15;  ///< standard deviation of slow values, over the height: slow work
                                 ///< is not equally slow in all steps
constexpr double
    kAlways = 0.97;  ///< fraction of slow steps in an interval in which all should be slow
constexpr double kTailRange = 6.2;  ///< log of 1 + the widest tail, in pairs of standard deviations
constexpr double kTailAbove = 0.9;  ///< fraction of outliers that are slower than usual
constexpr double
    kFarBelow = 1.6;  ///< heights from this multiple of the largest value on are not tried
constexpr double kMinScore = 3.0;  ///< scores below it are not exact
constexpr std::size_t
    kLongRun = 128;  ///< number of steps from which on means of several steps are tested first
constexpr std::size_t kBins = 50;
constexpr double kRoughHeight = 0.3;  ///< times min_height, for the test of means: slowness in some
                                      ///< of the steps has a lower mean
constexpr double kUnlikely = -3.0;  ///< log ratio of a strand whose values are far below the height
constexpr double kFromBegin = 0.4;  ///< prior probability that slowness begins with the run;
                                    ///< kToEnd: that it lasts to its end
constexpr double kToEnd = 0.5;
constexpr double kIsAlways = 0.4;  ///< prior probabilities of the patterns
struct NowAndThen {
  double share;
  double chance;
};
/// The fraction of slow steps is not known, so two are tested.
constexpr NowAndThen kNowAndThen[] = {{0.4, 0.16}, {0.12, 0.04}};
constexpr double kIsPeriodic = 0.2;
constexpr double kIsUneven = 0.2;
constexpr std::size_t kMinPeriod = 2;
constexpr std::size_t kMaxPeriod = 10;
constexpr std::size_t kMinTimes = 4;  ///< occurrences, at least, of periodic slowness
/// Log ratio from which on mixed() omits 1 − share, which is less than 1e-12 of the sum: the
/// exponential of a ratio above 709 overflows.
constexpr double kLargeRatio = 30.0;
constexpr double kMedianLevel = 0.5;
/// Quantiles of a series that are tested as its level without slowness: the median, and lower ones
/// for series of which more than half of the steps are slow.
constexpr double kLevels[] = {kMedianLevel, 0.35, 0.2, 0.1};

double normal(double distance, double deviation) {
  const double z = distance / deviation;
  return std::exp(-0.5 * z * z) / (deviation * std::sqrt(2.0 * std::numbers::pi));
}

/// Returns the likelihood of a value as an outlier: equal for all orders of magnitude.
double tail(const Strand& strand, std::size_t step) {
  const double size = std::abs(strand.values[step]);
  const double share = size > kFarOff * strand.noise[step] ? strand.far_share : strand.tail_share;
  return share * (strand.values[step] > 0.0 ? kTailAbove : 1.0 - kTailAbove) /
         (kTailRange * (size + 2.0 * strand.noise[step]));
}

/// Returns the likelihood of a value of a slow step, without that of outliers.
double slow(double value, double noise, double height, bool is_uneven) {
  if (!is_uneven) return normal(value - height, std::hypot(noise, kSmear * height));
  const double scale = 1.0 / (noise * std::numbers::sqrt2);
  return 0.5 * (std::erfc((value - 2.0 * height) * scale) - std::erfc(value * scale)) /
         (2.0 * height);
}

/// The likelihoods of a strand's values that do not depend on the height.
struct Densities {
  std::vector<double> tails;
  std::vector<double> log_usual;
  double largest = 0.0;

  explicit Densities(const Strand& strand) {
    for (std::size_t step = 0; step < strand.values.size(); ++step) {
      const double noise = strand.noise[step];
      const double value = strand.values[step];
      tails.push_back(noise > 0.0 ? tail(strand, step) : 0.0);
      log_usual.push_back(
          noise > 0.0 ? std::log((1.0 - strand.tail_share) * normal(value, noise) + tails.back())
                      : 0.0);
      if (noise > 0.0) largest = std::max(largest, value);
    }
  }
};

/// Adds to each step the log of its likelihood ratio (slow : not slow), multiplied by `weight`.
void add_ratios(const Strand& strand, const Densities& densities, double height, bool is_uneven,
                double weight, std::vector<double>& sums) {
  for (std::size_t step = 0; step < sums.size(); ++step) {
    if (strand.noise[step] <= 0.0) continue;
    const double density = (1.0 - strand.tail_share) *
                           slow(strand.values[step], strand.noise[step], height, is_uneven);
    sums[step] += weight * (std::log(density + densities.tails[step]) - densities.log_usual[step]);
  }
}

/// Returns by step the log ratio if only a fraction `share` of the steps is slow: log(1 − share +
/// share × ratio).
std::vector<double> mixed(const std::vector<double>& ratios, double share) {
  std::vector<double> result;
  for (const double ratio : ratios)
    result.push_back(ratio > kLargeRatio ? std::log(share) + ratio
                                         : std::log1p(share * std::expm1(ratio)));
  return result;
}

double sum_above(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += std::max(0.0, value);
  return sum;
}

/// Finds the interval with the largest sum, including the prior of its ends, and stores it in
/// `best` if its score is higher. values: result of mixed(). share: stored in `best`.
void best_stretch(const std::vector<double>& values, double share, double log_prior, Scan& best) {
  const auto count = static_cast<double>(values.size());
  const double inner_begin = std::log((1.0 - kFromBegin) / count);
  const double inner_end = std::log((1.0 - kToEnd) / count);
  double sum = std::log(kFromBegin);
  std::size_t first = 0;
  for (std::size_t step = 0; step < values.size(); ++step) {
    if (step > 0 && sum < inner_begin) {
      sum = inner_begin;
      first = step;
    }
    sum += values[step];
    const double score = sum + log_prior +
                         (step + 1 == values.size() ? std::log(kToEnd) : inner_end);
    if (score <= best.score) continue;
    best.score = score;
    best.first = first;
    best.last = step;
    best.share = share;
    best.period = 1;
  }
}

/// The same for every period-th step.
void best_periodic(const std::vector<double>& values, double log_prior, Scan& best) {
  std::vector<double> some;
  for (std::size_t period = kMinPeriod; period <= kMaxPeriod && period * kMinTimes <= values.size();
       ++period) {
    const double prior = log_prior -
                         std::log(static_cast<double>((kMaxPeriod - kMinPeriod + 1) * period));
    for (std::size_t phase = 0; phase < period; ++phase) {
      some.clear();
      for (std::size_t step = phase; step < values.size(); step += period)
        some.push_back(values[step]);
      if (sum_above(some) + prior < std::max(kMinScore, best.score)) continue;
      const double before = best.score;
      best_stretch(some, kAlways, prior, best);
      if (best.score <= before) continue;
      best.first = phase + period * best.first;
      best.last = phase + period * best.last;
      best.period = period;
    }
  }
}

/// The log ratios of one pattern, by strand and step. Strands far below the height get kUnlikely
/// without computation.
class Ratios {
 public:
  explicit Ratios(const std::vector<Strand>& strands) : strands_(strands), rows_(strands.size()) {
    for (const Strand& strand : strands) densities_.emplace_back(strand);
  }
  double largest() const {
    double largest = 0.0;
    for (const Densities& one : densities_) largest = std::max(largest, one.largest);
    return largest;
  }
  bool is_near(std::size_t strand, double height) const {
    return height < kFarBelow * densities_[strand].largest;
  }

  void set(double height, bool is_uneven, const std::vector<bool>& is_wanted) {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!is_wanted[i]) continue;
      rows_[i].assign(strands_[i].values.size(), is_near(i, height) ? 0.0 : kUnlikely);
      if (is_near(i, height))
        add_ratios(strands_[i], densities_[i], height, is_uneven, 1.0, rows_[i]);
    }
  }
  const std::vector<double>& row(std::size_t strand) const { return rows_[strand]; }

 private:
  const std::vector<Strand>& strands_;
  std::vector<std::vector<double>> rows_;
  std::vector<Densities> densities_;
};

std::vector<double> heights_of(double least, double largest) {
  std::vector<double> heights;
  for (double height = least; height < std::min(kMaxHeight, kFarBelow * largest);
       height *= kHeightRatio)
    heights.push_back(height);
  return heights;
}

double count_of_heights(double least) {
  return std::ceil(std::log(kMaxHeight / least) / std::log(kHeightRatio));
}

void take_better(Scan found, double height, bool is_uneven, Scan& best) {
  double& of_kind = is_uneven ? best.uneven_score : best.even_score;
  of_kind = std::max(of_kind, found.score);
  if (found.score <= best.score) return;
  found.height = height;
  found.is_uneven = is_uneven;
  found.even_score = best.even_score;
  found.uneven_score = best.uneven_score;
  best = found;
}

/// The alternative that one pass tests.
struct Pattern {
  double height = 0.0;
  double log_prior = 0.0;
  bool is_uneven = false;
  bool is_quick = false;  ///< without periodic slowness
};

void scan_unit(const std::vector<Strand>& strands, const Unit& unit, const Ratios& ratios,
               const Pattern& pattern, Scan& best) {
  const auto is_near = [&](std::size_t strand) { return ratios.is_near(strand, pattern.height); };
  if (std::none_of(unit.strands.begin(), unit.strands.end(), is_near)) return;
  std::vector<double> sums(strands[unit.strands[0]].values.size(), 0.0);
  double base = unit.log_prior + pattern.log_prior;
  for (std::size_t i = 0; i < unit.strands.size(); ++i) {
    const std::vector<double>& row = ratios.row(unit.strands[i]);
    base += strands[unit.strands[i]].base;
    for (std::size_t step = 0; step < sums.size(); ++step)
      sums[step] += unit.weights[i] * row[step];
  }
  if (base + sum_above(sums) < std::max(kMinScore, best.score)) return;
  Scan found;
  const std::vector<double> always = mixed(sums, kAlways);
  best_stretch(always, kAlways, base + std::log(pattern.is_uneven ? kIsUneven : kIsAlways), found);
  for (const auto& [share, chance] : kNowAndThen) {
    if (pattern.is_uneven) break;
    best_stretch(mixed(sums, share), share, base + std::log(chance), found);
  }
  if (!pattern.is_uneven && !pattern.is_quick)
    best_periodic(always, base + std::log(kIsPeriodic), found);
  take_better(found, pattern.height, pattern.is_uneven, best);
}

/// Tests the units with is_wanted; the result of the others is the default Scan.
std::vector<Scan> scan_wanted(const std::vector<Strand>& strands, const std::vector<Unit>& units,
                              const std::vector<bool>& is_wanted, double min_height,
                              bool is_quick) {
  std::vector<bool> even(strands.size(), false);
  std::vector<bool> uneven(strands.size(), false);
  for (std::size_t i = 0; i < units.size(); ++i) {
    for (const std::size_t strand : units[i].strands) {
      even[strand] = even[strand] || is_wanted[i];
      uneven[strand] = uneven[strand] || (is_wanted[i] && units[i].may_be_uneven);
    }
  }
  std::vector<Scan> best(units.size());
  Ratios ratios(strands);
  const double log_prior = -std::log(count_of_heights(min_height));
  for (const double height : heights_of(min_height, ratios.largest())) {
    for (const bool is_uneven : {false, true}) {
      ratios.set(height, is_uneven, is_uneven ? uneven : even);
      for (std::size_t i = 0; i < units.size(); ++i) {
        if (is_wanted[i] && (!is_uneven || units[i].may_be_uneven))
          scan_unit(strands, units[i], ratios, {height, log_prior, is_uneven, is_quick}, best[i]);
      }
    }
  }
  return best;
}

/// Returns the means of several steps, for a first test of a long run. Outliers are clipped.
Strand coarse(const Strand& strand, double min_height) {
  constexpr double kClip = 4.0;     // standard deviations
  constexpr double kMinClip = 2.0;  // times min_height: where noise is low, that must still be seen
  const std::size_t width = strand.values.size() / kBins;
  Strand result{{}, {}, strand.tail_share, strand.far_share, strand.base};
  for (std::size_t first = 0; first + width <= strand.values.size(); first += width) {
    double sum = 0.0;
    double weight = 0.0;
    for (std::size_t step = first; step < first + width; ++step) {
      const double noise = strand.noise[step];
      if (noise <= 0.0) continue;
      const double most = std::max(kClip * noise, kMinClip * min_height);
      sum += std::clamp(strand.values[step], -most, most) / (noise * noise);
      weight += 1.0 / (noise * noise);
    }
    result.values.push_back(weight > 0.0 ? sum / weight : 0.0);
    result.noise.push_back(weight > 0.0 ? 1.0 / std::sqrt(weight) : 0.0);
  }
  return result;
}

}  // namespace

std::vector<Scan> scan(const std::vector<Strand>& strands, const std::vector<Unit>& units,
                       double min_height) {
  std::vector<bool> is_wanted(units.size(), true);
  if (!strands.empty() && strands[0].values.size() >= kLongRun) {
    std::vector<Strand> rough;
    for (const Strand& strand : strands) rough.push_back(coarse(strand, min_height));
    const std::vector<Scan> first = scan_wanted(rough, units, is_wanted, kRoughHeight * min_height,
                                                true);
    for (std::size_t i = 0; i < units.size(); ++i) is_wanted[i] = first[i].score > 0.0;
  }
  return scan_wanted(strands, units, is_wanted, min_height, false);
}

std::vector<bool> active_steps(const std::vector<Strand>& strands, const Unit& unit,
                               const Scan& scan) {
  std::vector<double> sums(strands[unit.strands[0]].values.size(), 0.0);
  for (std::size_t i = 0; i < unit.strands.size(); ++i) {
    const Strand& strand = strands[unit.strands[i]];
    add_ratios(strand, Densities(strand), scan.height, scan.is_uneven, unit.weights[i], sums);
  }
  std::vector<bool> is_active(sums.size(), false);
  for (std::size_t step = scan.first; step <= scan.last; step += scan.period) {
    is_active[step] = sums[step] + std::log(scan.share / (1.0 - scan.share)) > 0.0;
  }
  return is_active;
}

Strand strand_of_change(const std::vector<double>& series, const std::vector<double>& noise,
                        double tail_share, double min_height) {
  const Strand whole{series, noise, tail_share, tail_share, 0.0};
  const auto log_fit = [&](const Strand& strand) {
    const Densities densities(strand);
    return std::accumulate(densities.log_usual.begin(), densities.log_usual.end(), 0.0);
  };
  std::vector<double> known;
  for (std::size_t step = 0; step < series.size(); ++step) {
    if (noise[step] > 0.0) known.push_back(series[step]);
  }
  Strand best;
  double best_score = -std::numeric_limits<double>::infinity();
  double usual = 0.0;
  for (const double share : kLevels) {
    const double level = quantile(known, share);
    Strand strand = whole;
    for (double& value : strand.values) value -= level;
    const double fit = log_fit(strand);
    if (share == kMedianLevel) usual = fit;
    strand.base = std::min(0.0, fit - usual);
    const Strand rough = series.size() >= kLongRun ? coarse(strand, min_height) : strand;
    const double
        score = scan_wanted({rough}, {{{0}, {1.0}, 0.0, false}}, {true}, min_height, true)[0].score;
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(strand);
  }
  return best;
}

}  // namespace megascope::detect
