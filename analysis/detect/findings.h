#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/evidence.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

inline constexpr double
    kMinTailShare = 0.01;  ///< of a healthy rank's steps that are far off, at least

/// A stretch of steps in which something was slow, and how it shows.
struct Finding {
  std::size_t onset = 0;
  std::size_t last = 0;
  std::vector<bool> is_active;  ///< by step of the run
  std::size_t active_steps = 0;
  double excess = 0.0;     ///< mean of the log factor in the active steps
  double score = 0.0;      ///< log of how much likelier this is than nothing (Scan)
  double threshold = 0.0;  ///< that the score had to pass

  bool is_there() const { return active_steps != 0; }
};

/// Is the score beyond what noise gives with the rate asked for? Noise is estimated: a margin is
/// kept.
double score_threshold(const Options& options);

/// Slow in enough steps, by enough. height: of an uneven finding, of which the excess is only the
/// mean.
bool is_worth_it(const Finding& finding, const Options& options, double height = 0.0);

/// What a scan says of a unit: which steps, how much. An excess is a mean over its strands.
Finding describe(const std::vector<Strand>& strands, const Unit& unit, const Scan& scan,
                 double threshold);

/// How far apart healthy members of a group are for good: a standard deviation, from the levels at
/// or below the usual one.
double spread_below(const std::vector<double>& levels, double usual);

/// Sets how often healthy strands are far off, alike for all. Those without noise have no peers,
/// and are not asked. min_far_share: of steps beyond kFarOff.
void set_tails(std::vector<Strand>& strands, std::size_t steps,
               double min_far_share = kMinTailShare);

}  // namespace megascope::detect
