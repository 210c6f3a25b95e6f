#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/link_judge.h"
#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// The findings of all judges.
struct Findings {
  std::vector<SlowUnit> units;  ///< of slow_units()
  std::vector<Finding> stalls;  ///< of stalled_ranks(), by rank
  std::vector<Finding> links;   ///< of slow_links(), by link
};

/// Converts findings to root causes with cause, cost and evidence, the most expensive first.
/// Findings that another one explains are left out. The two directions of a link are one root
/// cause.
std::vector<RootCause> name_root_causes(const Reduced& reduced, const Peers& peers,
                                        const Findings& findings, const Options& options);

}  // namespace megascope::detect
