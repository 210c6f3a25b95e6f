#include "analysis/detect/ranks_of_host.h"

#include "analysis/detect/statistics.h"

#include <algorithm>
#include <cmath>

namespace megascope::detect {
namespace {

constexpr std::size_t kMinRanks = 4;   ///< with fewer, the median of the others is not reliable
constexpr double kMedianNoise = 1.25;  ///< standard deviation of a median, over that of a mean

/// Mean of the two middle values if their number is even.
double middle_of(std::vector<double> values) {
  const double lower = median(values);
  for (double& value : values) value = -value;
  return 0.5 * (lower - median(values));
}

/// Returns a rank's series less the median of the host's other ranks.
Strand relative_to_others(const WorkUnits& tested, const std::vector<std::size_t>& ranks,
                          std::size_t rank) {
  Strand strand = tested.strands[rank];
  const double others_share = 1.0 / static_cast<double>(ranks.size() - 1);
  std::vector<double> others;
  for (std::size_t step = 0; step < strand.values.size(); ++step) {
    others.clear();
    double square = 0.0;
    for (const std::size_t other : ranks) {
      if (other == rank) continue;
      others.push_back(tested.strands[other].values[step]);
      square += tested.strands[other].noise[step] * tested.strands[other].noise[step];
    }
    strand.values[step] -= middle_of(others);
    strand.noise[step] = std::hypot(strand.noise[step],
                                    kMedianNoise * others_share * std::sqrt(square));
  }
  return strand;
}

}  // namespace

std::vector<SlowUnit> slow_ranks_of_host(const WorkUnits& tested, const SlowUnit& host,
                                         const Options& options) {
  std::vector<SlowUnit> found;
  if (host.ranks.size() < kMinRanks) return found;
  std::vector<Strand> strands;
  std::vector<Unit> units;
  for (const std::size_t rank : host.ranks) {
    if (tested.strands[rank].noise.empty() || tested.strands[rank].noise[0] <= 0.0) return found;
    units.push_back(
        {{strands.size()}, {1.0}, -std::log(static_cast<double>(host.ranks.size())), false});
    strands.push_back(relative_to_others(tested, host.ranks, rank));
  }
  const double threshold = score_threshold(options);
  const std::vector<Scan> scans = scan(strands, units, std::log(options.min_factor));
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (scans[i].score < threshold) continue;
    Finding finding = describe(strands, units[i], scans[i], threshold);
    const std::size_t rank = host.ranks[i];
    if (!is_worth_it(finding, options) || finding.excess <= tested.apart[rank]) continue;
    found.push_back({Together::kRank, rank, {rank}, std::move(finding)});
    found.back().within = host.ranks;
  }
  // If most of them are slower than the rest, the rest is faster.
  if (2 * found.size() >= host.ranks.size()) found.clear();
  return found;
}

}  // namespace megascope::detect
