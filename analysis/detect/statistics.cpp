#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>

namespace megascope::detect {
namespace {
constexpr double
    kSmallestOfThree = 1.15;  ///< factor on the smallest of the three estimates of noise_of()
/// fifth_range() ignores a fifth of the values at each end, so that as many outliers do not change
/// it.
constexpr double kLowestFifth = 0.2;
constexpr double kHighestFifth = 0.8;
constexpr std::size_t kMinSeries = 4;  ///< shorter series: the spread only
}  // namespace
double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0.0;
  const auto index = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

double spread(std::vector<double> values) {
  const double middle = median(values);
  for (double& value : values) value = std::abs(value - middle);
  return kToDeviation * median(values);
}

double fifth_range(std::vector<double> values) {
  const double last = quantile(values, kHighestFifth);
  return last - quantile(values, kLowestFifth);
}

double noise_of_differences(const std::vector<double>& series) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < series.size(); ++i) differences.push_back(series[i] - series[i - 1]);
  return spread(std::move(differences)) / std::sqrt(2.0);
}

double noise_of(const std::vector<double>& series) {
  if (series.size() < kMinSeries) return spread(series);
  const double of_differences = noise_of_differences(series);
  std::vector<double> values = series;
  const double middle = median(values);
  const double below = middle - quantile(values, kOneBelow);
  return kSmallestOfThree * std::min({of_differences, below, spread(series)});
}

std::vector<double> relative_levels(const std::vector<std::vector<double>>& series) {
  std::vector<std::vector<double>> differences(series.size());
  const std::size_t steps = series.empty() ? 0 : series[0].size();
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> of_step;
    for (const std::vector<double>& one : series) of_step.push_back(one[step]);
    const double usual = quantile(of_step, kUsual);
    for (std::size_t i = 0; i < differences.size(); ++i)
      differences[i].push_back(series[i][step] - usual);
  }
  std::vector<double> levels;
  for (std::vector<double>& difference : differences) levels.push_back(median(difference));
  return levels;
}

}  // namespace megascope::detect
