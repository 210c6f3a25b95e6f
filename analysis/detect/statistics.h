#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Robust statistics, and the search for steps in which a series is higher. Pure.
namespace megascope::detect {

/// The value of rank floor(share × (count − 1)) of the sorted values; 0 of none. Orders `values` anew.
double quantile(std::vector<double>& values, double share);
inline double median(std::vector<double>& values) { return quantile(values, 0.5); }
/// 1.4826 × the median distance from the median: the standard deviation, were they normal.
double spread(std::vector<double> values);

/// Standard deviation of a series that may be higher in some of its steps: the smaller of what its differences and its lower
/// part say.
double noise_of(const std::vector<double>& series);
/// By its differences only.
double noise_of_differences(const std::vector<double>& series);

/// Steps [first, last] in which a series is high.
struct Interval {
  std::size_t first = 0;
  std::size_t last = 0;
  double z = 0.0;  ///< standard deviations of the interval's mean
};
/// The interval of the largest z = Σ values / √length, for values that are standard normal in a healthy run; lengths grow by
/// a quarter, begins by an eighth of the length. values: clipped by the caller. Time O(n log n).
Interval highest_interval(std::span<const double> values);
/// The same against the rest of the series: z = (mean inside − mean outside) × √(n₁ n₂ / (n₁ + n₂)). For a series without peers;
/// the interval leaves at least a fifth of it outside.
Interval highest_against_rest(std::span<const double> values);
/// The stretch in which values stay above `level` on the whole: of the greatest Σ (value − level).
Interval stretch_above(std::span<const double> values, double level);

/// Of the rate that is asked for, what z_threshold() uses, since noise is estimated, from few steps.
inline constexpr double kRateMargin = 0.03;
/// How large z must be so that noise exceeds it with probability `rate` in any of `series` series of `steps` steps: the Gaussian
/// tail bound over all intervals that are looked at.
double z_threshold(double rate, std::size_t series, std::size_t steps);

/// log of the probability that at least `hits` of `tries` happen, each with probability p: the binomial tail.
double log_tail(std::size_t hits, std::size_t tries, double p);

}  // namespace megascope::detect
