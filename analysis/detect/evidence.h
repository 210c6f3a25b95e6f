#pragma once

#include <cstddef>
#include <vector>

/// How much likelier a series of steps is if something was slow in some of them than if nothing
/// was. Pure.
namespace megascope::detect {

inline constexpr double kFarOff = 15.0;

/// One series to be judged: log factors by step, about 0 where nothing is wrong.
struct Strand {
  std::vector<double> values;
  std::vector<double> noise;  ///< standard deviation of each value; 0: the step has no value
  double tail_share = 0.02;  ///< of values that are far off, by anything up to hundreds of standard
                             ///< deviations
  double far_share = 0.02;   ///< the same of those beyond kFarOff standard deviations
  double base = 0.0;  ///< ≤ 0: how much less likely the level is than the one that fits a series
                      ///< with nothing wrong best
};

/// What is judged together: strands that would be slow in the same steps, alike.
struct Unit {
  std::vector<std::size_t> strands;
  std::vector<double>
      weights;  ///< by strand, ≤ 1: for what they have in common only since they have one measure
  double log_prior = 0.0;      ///< of the unit among all that are judged
  bool may_be_uneven = false;  ///< work that varies by step is one of its causes
};

/// In which steps and by how much the unit was slow, were it.
struct Scan {
  double score = -1e300;  ///< log of (likelihood if slow × prior) / likelihood if not; above
                          ///< log(1/p) with chance p at most
  std::size_t first = 0;
  std::size_t last = 0;
  double height = 0.0;         ///< log factor
  double share = 1.0;          ///< of the steps from first to last, about
  std::size_t period = 1;      ///< or every so many steps
  bool is_uneven = false;      ///< anything from 0 to twice the height, else about the height
  double even_score = -1e300;  ///< the best of either kind
  double uneven_score = -1e300;
};

/// The best explanation of each unit: steps first to last (a prior prefers those that begin with
/// the run or last to its end), in all of them, every k-th, about 0.4 or
/// about 0.12 of them, one of some twenty
/// heights from `min_height` on. Each has its prior, so that the score needs no correction for
/// what was tried. Scores below 3 are not exact. Time: strands × steps × heights, which are few
/// where no value is large.
std::vector<Scan> scan(const std::vector<Strand>& strands, const std::vector<Unit>& units,
                       double min_height);

/// By step: was the unit slow in it, more likely than not? Only from first to last.
std::vector<bool> active_steps(const std::vector<Strand>& strands, const Unit& unit,
                               const Scan& scan);

/// The strand of a series whose level is not known: the level by which some steps are slow best,
/// and its base. noise: by step.
Strand strand_of_change(const std::vector<double>& series, const std::vector<double>& noise,
                        double tail_share, double min_height);

}  // namespace megascope::detect
