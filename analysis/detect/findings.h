#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/evidence.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Lower bound of the assumed fraction of a healthy rank's steps that are outliers.
inline constexpr double kMinTailShare = 0.01;

/// The steps in which a unit was slow, and by how much.
struct Finding {
  std::size_t onset = 0;        ///< first active step
  std::size_t last = 0;         ///< last active step
  std::vector<bool> is_active;  ///< by step of the run
  std::size_t active_steps = 0;
  double excess = 0.0;     ///< mean log factor in the active steps
  double score = 0.0;      ///< Scan::score
  double threshold = 0.0;  ///< the score that was required

  bool is_there() const { return active_steps != 0; }
};

/// Returns the score that a unit needs to be reported: −log(0.005 × options.false_alarm_rate). The
/// factor 0.005 is a margin, because the noise is only an estimate.
double score_threshold(const Options& options);

/// Returns whether a finding is large enough to be reported: at least three active steps, and a
/// slowdown of at least options.min_factor. height: Scan::height of an uneven finding. The slowdown
/// is the larger one of height and Finding::excess, because the mean excess of an uneven finding
/// may be lower than its height.
bool is_worth_it(const Finding& finding, const Options& options, double height = 0.0);

/// Converts the scan of a unit to a finding. The excess is the mean over the unit's strands and
/// active steps; values far from the median of these values are clipped, because pauses are not
/// slow work. All steps of the interval are active if the scan is uneven.
Finding describe(const std::vector<Strand>& strands, const Unit& unit, const Scan& scan,
                 double threshold);

/// Returns how much the levels of healthy members of a group differ permanently, as a standard
/// deviation. Only levels up to `usual` are used, because slow members have higher levels. Returns
/// 0 if there are fewer than two such levels.
double spread_below(const std::vector<double>& levels, double usual);

/// Sets tail_share and far_share of all strands to one estimate, from the half of the strands that
/// has the fewest outliers. If there are four strands or fewer, all but one are used. Strands
/// without peers, whose noise is 0, are not used for the estimate. steps: values in a strand.
/// min_far_share: lower bound of far_share.
void set_tails(std::vector<Strand>& strands, std::size_t steps,
               double min_far_share = kMinTailShare);

}  // namespace megascope::detect
