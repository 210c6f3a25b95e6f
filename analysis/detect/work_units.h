#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// The input of scan() for the work of ranks.
struct WorkUnits {
  std::vector<Strand> strands;   ///< first one strand for each rank, then one for each entry of
                                 ///< WorkSeries::shared, then one for each class
  std::size_t first_shared = 0;  ///< index of the first strand of WorkSeries::shared
  std::size_t
      first_class = 0;  ///< index of the first strand of a class. A single class has no strand
  std::vector<double> apart;    ///< Measure::apart, by rank
  std::vector<Unit> units;      ///< sets of strands that one cause can slow
  std::vector<SlowUnit> kinds;  ///< by unit: kind, index and ranks; the finding is empty
  double host_apart = 0.0;  ///< a host, or a replica on one host, is reported only if its excess is
                            ///< larger than this: four times the noise that the ranks of a host
                            ///< have in common
};

/// Builds the sets of ranks that one cause can slow, and their series. A rank that takes part in
/// synchronised work (SharedSeries) has two consecutive units: one with the strands of this work in
/// addition to its own strand, and one with its own strand only.
WorkUnits work_units(const WorkSeries& work, const Peers& peers, const Options& options);

}  // namespace megascope::detect
