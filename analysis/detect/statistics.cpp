#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>

namespace megascope::detect {
namespace {

std::vector<double> sums_of(std::span<const double> values) {
  std::vector<double> sums(values.size() + 1, 0.0);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i + 1] = sums[i] + values[i];
  return sums;
}

std::size_t next_length(std::size_t length) { return length + std::max<std::size_t>(1, length / 4); }

/// Calls visit(first, length) for each interval that is looked at.
template <class Visit>
void visit_intervals(std::size_t count, std::size_t longest, Visit visit) {
  for (std::size_t length = 1; length <= longest; length = length == longest ? longest + 1 : std::min(next_length(length), longest)) {
    const std::size_t stride = std::max<std::size_t>(1, length / 8);
    for (std::size_t first = 0; first + length <= count; first += stride) visit(first, length);
    visit(count - length, length);
  }
}

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
  return 1.4826 * median(values);
}

double noise_of_differences(const std::vector<double>& series) {
  std::vector<double> differences;
  for (std::size_t i = 1; i < series.size(); ++i) differences.push_back(series[i] - series[i - 1]);
  return spread(std::move(differences)) / std::sqrt(2.0);
}

double noise_of(const std::vector<double>& series) {
  if (series.size() < 4) return spread(series);
  const double of_differences = noise_of_differences(series);
  std::vector<double> values = series;
  const double middle = median(values);
  const double below = middle - quantile(values, 0.16);
  return 1.15 * std::min({of_differences, below, spread(series)});
}

Interval highest_interval(std::span<const double> values) {
  const std::vector<double> sums = sums_of(values);
  Interval best;
  visit_intervals(values.size(), values.size(), [&](std::size_t first, std::size_t length) {
    const double z = (sums[first + length] - sums[first]) / std::sqrt(static_cast<double>(length));
    if (z > best.z) best = {first, first + length - 1, z};
  });
  return best;
}

Interval highest_against_rest(std::span<const double> values) {
  const std::vector<double> sums = sums_of(values);
  const auto count = static_cast<double>(values.size());
  Interval best;
  visit_intervals(values.size(), values.size() - (values.size() + 4) / 5, [&](std::size_t first, std::size_t length) {
    const double inside = static_cast<double>(length);
    const double outside = count - inside;
    const double sum = sums[first + length] - sums[first];
    const double z = (sum / inside - (sums.back() - sum) / outside) * std::sqrt(inside * outside / count);
    if (z > best.z) best = {first, first + length - 1, z};
  });
  return best;
}

Interval stretch_above(std::span<const double> values, double level) {
  Interval best;
  double sum = 0.0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (sum <= 0.0) {
      sum = 0.0;
      first = i;
    }
    sum += values[i] - level;
    if (sum > best.z) best = {first, i, sum};
  }
  return best;
}

double z_threshold(double rate, std::size_t series, std::size_t steps) {
  const double lengths = std::log2(static_cast<double>(steps) + 1.0) * 3.0;  // lengths grow by a quarter
  const double looks = static_cast<double>(series) * static_cast<double>(steps) * lengths;
  return std::sqrt(2.0 * std::log(std::max(looks, 1.0) / (kRateMargin * rate)));
}

double log_tail(std::size_t hits, std::size_t tries, double p) {
  if (hits == 0) return 0.0;
  const auto n = static_cast<double>(tries);
  double sum = 0.0;
  double first = 0.0;
  for (std::size_t k = hits; k <= tries; ++k) {
    const auto count = static_cast<double>(k);
    const double log_chance = std::lgamma(n + 1.0) - std::lgamma(count + 1.0) - std::lgamma(n - count + 1.0) +
                              count * std::log(p) + (n - count) * std::log1p(-p);
    if (k == hits) first = log_chance;
    const double share = std::exp(log_chance - first);
    sum += share;
    if (share < 1e-6) break;
  }
  return std::min(0.0, first + std::log(sum));
}

}  // namespace megascope::detect
