#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Robust statistics. Pure functions; O(count).
namespace megascope::detect {

/// The usual work of a class is this quantile of its members' work. It stays the work of a healthy
/// member if up to two thirds of the members are slow.
inline constexpr double kUsual = 1.0 / 3.0;
/// Converts the median absolute deviation (MAD) of normally distributed values to their standard
/// deviation.
inline constexpr double kToDeviation = 1.4826;
/// Quantile of a normal distribution that lies one standard deviation below its mean.
inline constexpr double kOneBelow = 0.16;

/// Returns the value at index floor(share × (count − 1)) of the sorted values; 0 if there are no
/// values. Reorders `values`. share: 0 to 1.
double quantile(std::vector<double>& values, double share);
inline double median(std::vector<double>& values) { return quantile(values, 0.5); }
/// Returns kToDeviation × the median distance from the median: the standard deviation, if the
/// values are normally distributed.
double spread(std::vector<double> values);

/// Returns quantile 0.8 minus quantile 0.2 of the values; 0 if there are no values.
double fifth_range(std::vector<double> values);

/// Subtracts from each value quantile(kUsual) of all series in the same step, and returns the
/// median over the steps, by series. What all series have in common, such as a drift of the load,
/// is thus removed. Outer index: series; all have the same number of steps.
std::vector<double> relative_levels(const std::vector<std::vector<double>>& series);

/// Estimates the standard deviation of a series that may be higher in some of its steps: the
/// smallest of three estimates (consecutive differences, distance of the lower values from the
/// median, spread), increased by 15 %. Returns spread() for fewer than four values.
double noise_of(const std::vector<double>& series);
/// Estimates the standard deviation of such a series from consecutive differences only.
double noise_of_differences(const std::vector<double>& series);

}  // namespace megascope::detect
