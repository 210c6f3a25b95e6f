#pragma once

#include <cstddef>
#include <vector>

/// The likelihood-ratio test of the detector. It compares two explanations for a series with one
/// value a step: something was slow in some of the steps, or nothing was slow. A *log factor* is
/// log(observed time / expected time). Pure functions; any thread.
namespace megascope::detect {

/// A value that is at least so many standard deviations off is a far outlier. The frequency of far
/// outliers is estimated separately from that of other outliers.
inline constexpr double kFarOff = 15.0;

/// A series to be judged: a log factor for each step, about 0 where nothing is slow.
struct Strand {
  std::vector<double> values;
  std::vector<double> noise;  ///< standard deviation of each value; 0: the step has no value
  double tail_share = 0.02;   ///< probability that a healthy value is an outlier (an outlier may
                              ///< have any order of magnitude)
  double far_share = 0.02;    ///< probability that a healthy value is a far outlier (kFarOff)
  double base = 0.0;  ///< at most 0. Set by strand_of_change(), which subtracts a level from
                      ///< `values`: the log likelihood with this level minus that with the median
                      ///< as level. 0 for other strands
};

/// What is tested as a whole for being slow: the strands (series of values, one for each step) that
/// one cause would slow in the same steps and by about the same factor, such as the ranks of a
/// host.
struct Unit {
  std::vector<std::size_t> strands;  ///< indices
  std::vector<double> weights;  ///< weight of each strand, at most 1. Less than 1 if the strands
                                ///< were compared with one reference value, whose error they share
  double log_prior = 0.0;       ///< log of the unit's prior probability among all units
  bool may_be_uneven = false;   ///< also test work that varies from step to step
};

/// The most likely slowdown of a unit: its steps, its height, and how likely it is.
struct Scan {
  double score = -1e300;  ///< log(prior × likelihood if slow / likelihood if not slow). Noise alone
                          ///< produces a score above log(1/p) with probability at most p
  std::size_t first = 0;         ///< first step of the interval
  std::size_t last = 0;          ///< last step of the interval
  double height = 0.0;           ///< log factor
  double share = 1.0;            ///< assumed fraction of the interval's steps that are slow
  std::size_t period = 1;        ///< only every period-th step of the interval can be slow
  bool is_uneven = false;        ///< true: the values of slow steps are spread from 0 to twice the
                                 ///< height. false: they lie around the height
  double even_score = -1e300;    ///< best score with is_uneven == false
  double uneven_score = -1e300;  ///< best score with is_uneven == true
};

/// Returns the most likely slowdown of each unit. The score is −1e300 if no slowdown is possible.
/// The result is the best of these alternatives:
/// - The interval may be any interval of steps. Intervals that begin with the run or extend to its
///   end have a higher prior.
/// - All steps of the interval are slow; or every k-th step, for k from 2 to 10; or about 0.4 of
///   the steps; or about 0.12 of the steps; or the slowdown is uneven (Scan::is_uneven).
/// - The height is one of min_height × 1.35^n (n = 0, 1, 2 and so on), up to 6. min_height is a log
///   factor.
///
/// All alternatives share one prior, so scores need no correction for multiple tests. Scores below
/// 3 are not exact. All strands have the same number of steps. Cost: O(strands × steps × heights);
/// heights far above all values are skipped.
std::vector<Scan> scan(const std::vector<Strand>& strands, const std::vector<Unit>& units,
                       double min_height);

/// Returns for each step of the run whether the unit was more likely slow in it than not; false
/// outside the interval of `scan`, and between the steps of its period.
std::vector<bool> active_steps(const std::vector<Strand>& strands, const Unit& unit,
                               const Scan& scan);

/// Returns the strand of a series that has no peers and is compared with its own past. Tries the
/// quantiles 0.5, 0.35, 0.2 and 0.1 of the series as its healthy level. Subtracts the level with
/// which slow steps explain the series best, and sets Strand::base. series, noise: by step.
Strand strand_of_change(const std::vector<double>& series, const std::vector<double>& noise,
                        double tail_share, double min_height);

}  // namespace megascope::detect
