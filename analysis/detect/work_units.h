#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// The input of scan() for the work of ranks.
struct WorkUnits {
  std::vector<Strand> strands;   ///< of all ranks, then of WorkSeries::shared, then of the classes
  std::size_t first_shared = 0;  ///< index of the first strand of WorkSeries::shared
  std::size_t first_class = 0;   ///< index of the first strand of a class; there are none if there
                                 ///< is a single class
  std::vector<double> apart;     ///< Measure::apart, by rank
  std::vector<Unit> units;       ///< sets of strands that one cause can slow
  std::vector<SlowUnit> kinds;   ///< by unit: kind, index and ranks; the finding is empty
  double host_apart = 0.0;       ///< the excess of a host, or of a replica on one host, must be
                                 ///< larger than this: four times the noise that ranks of a
                                 ///< host share
};

/// Builds the sets of ranks that one cause can slow, and their series. A rank of which other ranks'
/// SharedSeries tell as well has two consecutive units: with these strands, and without them.
WorkUnits work_units(const WorkSeries& work, const Peers& peers, const Options& options);

}  // namespace megascope::detect
