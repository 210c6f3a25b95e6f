#include "analysis/detect/replica_variation.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace megascope::detect {
namespace {

constexpr double kMinRatio = 3.0;  ///< variation of a replica over that of independent ranks, at
                                   ///< least; both are standard deviations
constexpr double kMinVariation = 0.01;
constexpr double kMinNoise = 1e-6;  ///< avoids a division by 0; measured work varies by more
constexpr std::size_t
    kMinReplicas = 3;  ///< of two replicas each is compared with the other, so both seem to vary
constexpr double kMax = 0.5;  ///< more than this fraction of the replicas must vary

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(std::max<std::size_t>(values.size(), 1));
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return values.size() < 2 ? 0.0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
}

ReplicaVariation variation_of(const WorkSeries& work, const std::vector<std::size_t>& ranks) {
  const std::size_t steps = work.excess[ranks[0]].size();
  const auto count = static_cast<double>(ranks.size());
  ReplicaVariation result;
  result.mean.assign(steps, 0.0);
  for (const std::size_t rank : ranks) {
    for (std::size_t step = 0; step < steps; ++step)
      result.mean[step] += work.excess[rank][step] / count;
  }
  double squares = 0.0;
  for (const std::size_t rank : ranks) {
    std::vector<double> rest;
    for (std::size_t step = 0; step < steps; ++step)
      rest.push_back(work.excess[rank][step] - result.mean[step]);
    const double deviation = deviation_of(rest);
    squares += deviation * deviation;
  }
  result.variation = deviation_of(result.mean);
  result.noise = std::sqrt(squares / (count - 1.0) / count);
  result.is_there = result.variation > std::max(kMinVariation, kMinRatio * result.noise);
  return result;
}

}  // namespace

std::vector<ReplicaVariation> replica_variations(const WorkSeries& work, const Peers& peers) {
  std::vector<ReplicaVariation> variations;
  const bool is_known = peers.replicas.size() > 1 &&
                        std::all_of(peers.replicas.begin(), peers.replicas.end(),
                                    [](const auto& ranks) { return ranks.size() > 1; });
  if (!is_known || work.excess.empty() || work.excess[0].size() < 2) return variations;
  for (const std::vector<std::size_t>& ranks : peers.replicas)
    variations.push_back(variation_of(work, ranks));
  return variations;
}

SlowUnit varying_replicas(const std::vector<ReplicaVariation>& variations, const Peers& peers) {
  SlowUnit unit;
  const auto count = static_cast<double>(
      std::count_if(variations.begin(), variations.end(),
                    [](const ReplicaVariation& one) { return one.is_there; }));
  if (variations.size() < kMinReplicas || count < 2.0 ||
      count <= kMax * static_cast<double>(variations.size()))
    return unit;
  unit.kind = Together::kReplicas;
  unit.is_uneven = true;
  for (const std::vector<std::size_t>& ranks : peers.replicas)
    unit.ranks.insert(unit.ranks.end(), ranks.begin(), ranks.end());
  std::sort(unit.ranks.begin(), unit.ranks.end());
  const std::size_t steps = variations[0].mean.size();
  Finding& finding = unit.finding;
  finding.last = steps - 1;
  finding.is_active.assign(steps, true);
  finding.active_steps = steps;
  for (std::size_t step = 0; step < steps; ++step) {  // the slowest replica makes the others wait
    double most = variations[0].mean[step];
    double mean = 0.0;
    for (const ReplicaVariation& one : variations) {
      most = std::max(most, one.mean[step]);
      mean += one.mean[step] / static_cast<double>(variations.size());
    }
    finding.excess += (most - mean) / static_cast<double>(steps);
  }
  const double ratio = variations[0].variation / std::max(variations[0].noise, kMinNoise);
  finding.score = 0.5 * ratio * ratio * static_cast<double>(steps);
  return unit;
}

}  // namespace megascope::detect
