#pragma once

#include <cstddef>
#include <vector>

#include "analysis/detect/detect.h"
#include "analysis/detect/evidence.h"
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
  double score = 0.0;              ///< log of how much likelier this is than nothing (Scan)
  double threshold = 0.0;          ///< that the score had to pass

  bool is_there() const { return active_steps != 0; }
};

/// Work of ranks compared with their class, and of classes with each other and with their own past.
struct WorkSeries {
  std::vector<std::vector<double>> excess;        ///< log factor by rank and step, against the class
  std::vector<std::vector<double>> stall;         ///< share of the step's work by rank and step that lies in single gaps
  std::vector<std::vector<double>> class_level;   ///< log of the class's usual work by class and step
  std::vector<double> noise;                      ///< standard deviation of `excess` by rank
  std::vector<double> class_noise;                ///< of class_level, but for what is common to all classes
  std::vector<double> class_least_noise;          ///< of class_level, were the parts of a step independent
  std::vector<double> independent;                ///< what `noise` would be were the parts of a step independent, by rank
};
WorkSeries compare_work(const Reduced& reduced, const Peers& peers);

/// What can be slow as one: each has its own cause.
enum class Together : std::uint8_t { kRank, kHost, kReplica, kClass };

struct SlowUnit {
  Together kind = Together::kRank;
  std::size_t index = 0;             ///< of the rank, host, replica or class
  std::vector<std::size_t> ranks;
  Finding finding;
};
/// The units whose work is slow, the surest first: what explains more at once is surer, so that a host is named and not its
/// ranks. A rank is in one of them, a class may be in another beside.
std::vector<SlowUnit> slow_units(const WorkSeries& work, const Peers& peers, const Options& options);

/// Ranks with more pauses than the others: one finding a rank, empty (active_steps = 0) where there is none.
std::vector<Finding> stalled_ranks(const WorkSeries& work, const Options& options);

/// Is the score beyond what noise gives with the rate asked for? Noise is estimated: a margin is kept.
double score_threshold(const Options& options);

/// What a scan says of a unit: which steps, how much. An excess is a mean over its strands.
Finding describe(const std::vector<Strand>& strands, const Unit& unit, const Scan& scan, double threshold);

/// How far apart healthy members of a group are for good: a standard deviation, from the levels at or below the usual one.
double spread_below(const std::vector<double>& levels, double usual);

}  // namespace megascope::detect
