#include "analysis/detect/statistics.h"
#include "analysis/detect/work_judge.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace megascope::detect {
namespace {

constexpr double kUsual = 1.0 / 3.0;
constexpr double kMinFarShare = 0.002;  ///< where many ranks have hardly any long pauses, those
                                        ///< of one are telling

/// A master's gaps depend on who answers when, and no rank does the same: what is usual there is
/// the middle of its own, as they scatter.
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
  constexpr double kMinStall = 0.004;  // of the step's work
  constexpr double kStallNoise = 0.7;  // of what independent parts make the step vary: the longest
                                       // part, beyond what it usually is
  std::vector<Strand> strands;
  for (std::size_t rank = 0; rank < work.stall.size(); ++rank) {
    Strand strand{work.stall[rank], {}, kMinTailShare, kMinTailShare, 0.0};
    std::vector<double> sorted = work.stall[rank];
    const double usual = quantile(sorted, kUsual);
    const double noise = std::max(0.25 * kMinStall, kStallNoise * work.independent[rank]);
    strand.noise.assign(strand.values.size(), noise);
    for (double& value : strand.values) value -= std::min(usual, 2.0 * noise);
    if (peers.hub == rank) measure_by_itself(work.stall[rank], noise, strand);
    strands.push_back(std::move(strand));
  }
  set_tails(strands, work.stall.empty() ? 1 : work.stall[0].size(), kMinFarShare);
  if (peers.hub) {  // how often it pauses, its own steps tell as well
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
