#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// What the scan of work is given.
struct WorkUnits {
  std::vector<Strand> strands;   ///< of ranks by index, of WorkSeries::shared, of classes
  std::size_t first_shared = 0;  ///< index of a strand
  std::size_t first_class = 0;   ///< index of a strand; there are such if there are two classes
  std::vector<double> apart;     ///< by rank: by how much its peers differ for good
  std::vector<Unit> units;       ///< sets of strands that can be slow as one
  std::vector<SlowUnit> kinds;   ///< by unit; without a finding
  double host_apart = 0.0;       ///< by how much hosts differ by noise that their ranks share
};

/// The sets of ranks that can be slow as one, and the series that show it.
WorkUnits work_units(const WorkSeries& work, const Peers& peers, const Options& options);

}  // namespace megascope::detect
