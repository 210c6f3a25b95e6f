#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/link_judge.h"
#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// All that the judges found.
struct Findings {
  std::vector<SlowUnit> units;  ///< the surest first
  std::vector<Finding> stalls;  ///< by rank
  std::vector<Finding> links;   ///< by link
};

/// Findings by their causes; the two directions of a link are one. The most expensive first.
std::vector<RootCause> name_root_causes(const Reduced& reduced, const Peers& peers,
                                        const Findings& findings, const Options& options);

}  // namespace megascope::detect
