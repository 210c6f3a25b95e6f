#pragma once

#include <cstddef>
#include <vector>

#include "analysis/detect/detect.h"
#include "analysis/detect/peers.h"
#include "analysis/detect/reduction.h"

namespace megascope::detect {

/// A stretch of steps in which something was slow, and how it shows.
struct Finding {
  std::size_t onset = 0;
  std::size_t last = 0;
  std::vector<bool> is_active;     ///< by step of the run
  std::size_t active_steps = 0;
  double excess = 0.0;             ///< mean of the log factor in the active steps
  double z = 0.0;
  double threshold = 0.0;          ///< that z had to pass

  bool is_there() const { return active_steps != 0; }
};

/// Work of ranks compared with their class, and of classes with each other and with their own past.
struct WorkSeries {
  std::vector<std::vector<double>> excess;        ///< log factor by rank and step, against the class
  std::vector<std::vector<double>> stall;         ///< share of the step's work by rank and step that lies in single gaps
  std::vector<std::vector<double>> class_level;   ///< log of the class's usual work by class and step
  std::vector<double> noise;                      ///< standard deviation of `excess` by rank
  std::vector<double> shared_noise;               ///< the same as the rank's peers have it
  std::vector<double> class_noise;                ///< of class_level, but for what is common to all classes
  std::vector<double> class_least_noise;          ///< of class_level, were the parts of a step independent
  std::vector<double> independent;                ///< what `noise` would be were the parts of a step independent, by rank
};
WorkSeries compare_work(const Reduced& reduced, const Peers& peers);

/// Ranks that are slow against their class: one finding a rank, empty (active_steps = 0) where there is none.
std::vector<Finding> slow_ranks(const WorkSeries& work, const Peers& peers, const Options& options);
/// Classes that are slow: since some step, or in a pipeline against the other stages from the first step on.
std::vector<Finding> slow_classes(const WorkSeries& work, const Peers& peers, const Options& options);
/// Ranks with more pauses than the others.
std::vector<Finding> stalled_ranks(const WorkSeries& work, const Options& options);

/// What of a series that is high in an interval: which steps, how much. level: the series' value where nothing is wrong.
Finding describe(const std::vector<double>& series, double level, double noise, const std::vector<double>& clipped,
                 double z, double threshold);

/// What the mean of an interval cannot show: steps far above the level, now and then, more often than `share` of them. Nothing where
/// a third as many are as far below.
Finding find_exceedances(const std::vector<double>& series, double level, double noise, double share, double threshold);
/// The same of steps that are marked (1.0, else 0.0).
Finding count_hits(const std::vector<double>& hits, const std::vector<double>& series, double level, double share, double threshold);

/// Do the values of the finding's stretch lie neither at the level nor at its excess, but somewhere, by more than noise does?
bool is_uneven(const std::vector<double>& series, double level, const Finding& finding, double noise);

/// How far apart healthy members of a group are for good: a standard deviation, from the levels at or below the usual one.
double spread_below(const std::vector<double>& levels, double usual);

}  // namespace megascope::detect
