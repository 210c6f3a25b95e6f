#include "analysis/detect/statistics.h"
#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace megascope::detect {
namespace {

constexpr double kMinFarShare = 0.002;  ///< Strand::far_share, at least. Lower than kMinTailShare:
                                        ///< if the other ranks have hardly any long pauses, those
                                        ///< of one are evidence
constexpr double
    kMinStall = 0.004;  ///< fraction of the step's work; kOfMinStall of it is the smallest noise
constexpr double kStallNoise = 0.7;   ///< standard deviation of the slowest part beyond its usual
                                      ///< work, over that of the step if its parts are independent
constexpr double kOfMinStall = 0.25;  ///< lower bound of the noise, over kMinStall
/// Standard deviations: at most so much is subtracted as the rank's usual pause; the rest stays.
constexpr double kMaxUsual = 2.0;

/// Compares a master with the median and the spread of its own steps: its gaps depend on the order
/// in which the others answer, and no other rank does the same work.
void measure_by_itself(const std::vector<double>& stall, double noise, Strand& strand) {
  std::vector<double> sorted = stall;
  const double middle = median(sorted);
  strand.values = stall;
  for (double& value : strand.values) value -= middle;
  strand.noise.assign(stall.size(), std::max(noise, spread(stall)));
}

}  // namespace

std::vector<Finding> stalled_ranks(const WorkSeries& work, const Peers& peers,
                                   const Options& options) {
  std::vector<Strand> strands;
  for (std::size_t rank = 0; rank < work.stall.size(); ++rank) {
    Strand strand{work.stall[rank], {}, kMinTailShare, kMinTailShare, 0.0};
    std::vector<double> sorted = work.stall[rank];
    const double usual = quantile(sorted, kUsual);
    const double noise = std::max(kOfMinStall * kMinStall, kStallNoise * work.independent[rank]);
    strand.noise.assign(strand.values.size(), noise);
    for (double& value : strand.values) value -= std::min(usual, kMaxUsual * noise);
    if (peers.hub == rank) measure_by_itself(work.stall[rank], noise, strand);
    strands.push_back(std::move(strand));
  }
  set_tails(strands, work.stall.empty() ? 1 : work.stall[0].size(), kMinFarShare);
  if (peers.hub) {  // a master's tails are those of its own steps
    std::vector<Strand> own{strands[*peers.hub]};
    set_tails(own, own[0].values.size(), kMinFarShare);
    strands[*peers.hub] = std::move(own[0]);
  }
  std::vector<Unit> units;
  for (std::size_t rank = 0; rank < strands.size(); ++rank) {
    units.push_back({{rank}, {1.0}, -std::log(static_cast<double>(strands.size())), false});
  }
  const std::vector<Scan> scans = scan(strands, units, std::log(options.min_factor));
  std::vector<Finding> findings(strands.size());
  for (std::size_t rank = 0; rank < strands.size(); ++rank) {
    if (scans[rank].score < score_threshold(options)) continue;
    Finding finding = describe(strands, units[rank], scans[rank], score_threshold(options));
    finding.excess = std::log1p(finding.excess);
    if (is_worth_it(finding, options)) findings[rank] = std::move(finding);
  }
  return findings;
}

}  // namespace megascope::detect
