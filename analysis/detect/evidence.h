#pragma once

#include <cstddef>
#include <vector>

/// The likelihood-ratio test of the detector: is a series of values by step more likely if
/// something was slow in some of the steps, or if nothing was slow? A *log factor* is log(observed
/// time / expected time). Pure functions; any thread.
namespace megascope::detect {

/// Standard deviations from which on a value is a far outlier, whose frequency is estimated apart
/// from that of nearer ones.
inline constexpr double kFarOff = 15.0;

/// A series to be judged: a log factor for each step, about 0 where nothing is slow.
struct Strand {
  std::vector<double> values;
  std::vector<double> noise;  ///< standard deviation of each value; 0: the step has no value
  double tail_share = 0.02;   ///< probability that a healthy value is an outlier, of any order of
                              ///< magnitude
  double far_share = 0.02;    ///< the same for values beyond kFarOff standard deviations
  double base = 0.0;  ///< ≤ 0: log likelihood of the level that was subtracted from `values`,
                      ///< less that of the median (strand_of_change())
};

/// Strands that are judged together, since one cause would slow all of them in the same steps by
/// about the same factor.
struct Unit {
  std::vector<std::size_t> strands;  ///< indices
  std::vector<double> weights;  ///< of each strand, ≤ 1; less than 1 if the strands share the
                                ///< error of one reference value
  double log_prior = 0.0;       ///< log of the unit's prior probability among all units
  bool may_be_uneven = false;   ///< also test work that varies from step to step
};

/// The most likely slowdown of a unit: its steps, its height, and how likely it is.
struct Scan {
  double score = -1e300;   ///< log((likelihood if slow × prior) / likelihood if not slow). Noise
                           ///< alone exceeds log(1/p) with probability p at most
  std::size_t first = 0;   ///< first step of the interval
  std::size_t last = 0;    ///< last step of the interval
  double height = 0.0;     ///< log factor
  double share = 1.0;      ///< assumed fraction of the interval's steps that are slow
  std::size_t period = 1;  ///< only every period-th step of the interval can be slow
  bool is_uneven = false;  ///< values are spread from 0 to twice the height; else around the height
  double even_score = -1e300;    ///< best score with is_uneven == false
  double uneven_score = -1e300;  ///< best score with is_uneven == true
};

/// Finds the most likely slowdown of each unit; score −1e300 if none is possible. Alternatives:
/// - any interval of steps; intervals that begin with the run or extend to its end have a higher
///   prior;
/// - all steps of the interval, every k-th (k = 2 … 10), about 0.4 of them, about 0.12 of them, or
///   uneven work;
/// - heights from `min_height` (a log factor) on, each 1.35 times the previous one, up to 6.
/// All alternatives share one prior, so scores need no correction for multiple tests. Scores below
/// 3 are not exact. All strands have the same number of steps.
/// Cost: O(strands × steps × heights); heights far above all values are skipped.
std::vector<Scan> scan(const std::vector<Strand>& strands, const std::vector<Unit>& units,
                       double min_height);

/// Returns for each step of the run whether the unit was more likely slow in it than not; false
/// outside the interval of `scan`, and between the steps of its period.
std::vector<bool> active_steps(const std::vector<Strand>& strands, const Unit& unit,
                               const Scan& scan);

/// Returns the strand of a series that has no peers, measured by its own past. Tries the quantiles
/// 0.5, 0.35, 0.2 and 0.1 as its healthy level; subtracts the one that explains the series best by
/// slow steps, and sets Strand::base. series, noise: by step.
Strand strand_of_change(const std::vector<double>& series, const std::vector<double>& noise,
                        double tail_share, double min_height);

}  // namespace megascope::detect
