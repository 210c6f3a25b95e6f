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
constexpr double kSmear = 0.15;     ///< of the height: slow work is not equally slow in all steps
constexpr double kAlways = 0.97;    ///< share of the steps of a stretch that are slow
constexpr double kTailRange = 6.2;  ///< log of 1 + the widest tail, in pairs of standard deviations
constexpr double kTailAbove = 0.9;  ///< share of the tail that is slower
constexpr double kFarBelow = 1.6;   ///< heights of so many times the largest value are not tried
constexpr double kMinScore = 3.0;   ///< scans that end below are not looked at closely
constexpr std::size_t kLongRun = 128;  ///< steps from which on means of several are looked at first
constexpr std::size_t kBins = 50;
constexpr double
    kRoughHeight = 0.3;  ///< of the least height: what comes now and then is lower in a mean
constexpr double kUnlikely = -3.0;  ///< what they count as
constexpr double
    kFromBegin = 0.4;  ///< chances that what is wrong is so from the first step, to the last step
constexpr double kToEnd = 0.5;
constexpr double kIsAlways = 0.4;  ///< chances of the patterns
struct NowAndThen {
  double share;
  double chance;
};
constexpr NowAndThen kNowAndThen[] = {{0.4, 0.16}, {0.12, 0.04}};  ///< how often is not known
constexpr double kIsPeriodic = 0.2;
constexpr double kIsUneven = 0.2;
constexpr std::size_t kMinPeriod = 2;
constexpr std::size_t kMaxPeriod = 10;
constexpr std::size_t kMinTimes = 4;  ///< that something has to come to be called periodic

double normal(double distance, double deviation) {
  const double z = distance / deviation;
  return std::exp(-0.5 * z * z) / (deviation * std::sqrt(2.0 * std::numbers::pi));
}

/// Likelihood of values far off: the same by any order of magnitude.
double tail(const Strand& strand, std::size_t step) {
  const double size = std::abs(strand.values[step]);
  const double share = size > kFarOff * strand.noise[step] ? strand.far_share : strand.tail_share;
  return share * (strand.values[step] > 0.0 ? kTailAbove : 1.0 - kTailAbove) /
         (kTailRange * (size + 2.0 * strand.noise[step]));
}

/// Likelihood of a value if slow, but for the tail.
double slow(double value, double noise, double height, bool is_uneven) {
  if (!is_uneven) return normal(value - height, std::hypot(noise, kSmear * height));
  const double scale = 1.0 / (noise * std::numbers::sqrt2);
  return 0.5 * (std::erfc((value - 2.0 * height) * scale) - std::erfc(value * scale)) /
         (2.0 * height);
}

/// What the values of a strand say, once for all heights.
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

/// Adds by step the log of the likelihood if slow, over that if not.
void add_ratios(const Strand& strand, const Densities& densities, double height, bool is_uneven,
                double weight, std::vector<double>& sums) {
  for (std::size_t step = 0; step < sums.size(); ++step) {
    if (strand.noise[step] <= 0.0) continue;
    const double density = (1.0 - strand.tail_share) *
                           slow(strand.values[step], strand.noise[step], height, is_uneven);
    sums[step] += weight * (std::log(density + densities.tails[step]) - densities.log_usual[step]);
  }
}

/// By step, if slow in `share` of the steps: log(1 − share + share × ratio).
std::vector<double> mixed(const std::vector<double>& ratios, double share) {
  std::vector<double> result;
  for (const double ratio : ratios)
    result.push_back(ratio > 30.0 ? std::log(share) + ratio
                                  : std::log1p(share * std::expm1(ratio)));
  return result;
}

double sum_above(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values) sum += std::max(0.0, value);
  return sum;
}

/// The stretch of the largest sum, with the prior of its ends. values: mixed(). share, period: what
/// they are of.
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

/// The same of every period-th step.
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

/// Ratios by strand and step of one pattern; strands that lie far below the height are not worth
/// the time.
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

/// What is looked for in a pass.
struct Pattern {
  double height = 0.0;
  double log_prior = 0.0;
  bool is_uneven = false;
  bool is_quick = false;  ///< not every k-th step
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

/// is_wanted: units; the others are left as they are.
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

/// Means of several steps: of a long run a first look. What is far off counts as somewhat so.
Strand coarse(const Strand& strand) {
  constexpr double kClip = 4.0;
  const std::size_t width = strand.values.size() / kBins;
  Strand result{{}, {}, strand.tail_share, strand.far_share, strand.base};
  for (std::size_t first = 0; first + width <= strand.values.size(); first += width) {
    double sum = 0.0;
    double weight = 0.0;
    for (std::size_t step = first; step < first + width; ++step) {
      const double noise = strand.noise[step];
      if (noise <= 0.0) continue;
      sum += std::clamp(strand.values[step] / noise, -kClip, kClip) / noise;
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
    for (const Strand& strand : strands) rough.push_back(coarse(strand));
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
  for (const double share : {0.5, 0.35, 0.2, 0.1}) {
    const double level = quantile(known, share);
    Strand strand = whole;
    for (double& value : strand.values) value -= level;
    const double fit = log_fit(strand);
    if (share == 0.5) usual = fit;
    strand.base = std::min(0.0, fit - usual);
    const Strand rough = series.size() >= kLongRun ? coarse(strand) : strand;
    const double
        score = scan_wanted({rough}, {{{0}, {1.0}, 0.0, false}}, {true}, min_height, true)[0].score;
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(strand);
  }
  return best;
}

}  // namespace megascope::detect
