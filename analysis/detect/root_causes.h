#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/link_judge.h"
#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// The findings of all judges.
struct Findings {
  std::vector<SlowUnit> units;  ///< result of slow_units()
  std::vector<Finding> stalls;  ///< result of stalled_ranks(), by rank
  std::vector<Finding> links;   ///< result of slow_links(), by link
};

/// Converts findings (what deviates from its peers) to root causes: assigns the kind of cause, the
/// cost and the evidence. The result is sorted by cost, the highest first. Findings that another
/// finding explains are omitted. The two directions of a link become one root cause.
std::vector<RootCause> name_root_causes(const Reduced& reduced, const Peers& peers,
                                        const Findings& findings, const Options& options);

}  // namespace megascope::detect
