#pragma once

#include <cstddef>
#include <span>
#include <vector>

/// Robust statistics, and the search for steps in which a series is higher. Pure.
namespace megascope::detect {

/// The value of rank floor(share × (count − 1)) of the sorted values; 0 of none. Orders `values`
/// anew.
double quantile(std::vector<double>& values, double share);
inline double median(std::vector<double>& values) { return quantile(values, 0.5); }
/// 1.4826 × the median distance from the median: the standard deviation, were they normal.
double spread(std::vector<double> values);

/// Standard deviation of a series that may be higher in some of its steps: the smaller of what its
/// differences and its lower part say.
double noise_of(const std::vector<double>& series);
/// By its differences only.
double noise_of_differences(const std::vector<double>& series);

}  // namespace megascope::detect
