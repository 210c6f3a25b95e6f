#pragma once

#include <vector>

#include "analysis/detect/detect.h"
#include "analysis/detect/link_judge.h"
#include "analysis/detect/work_judge.h"

namespace megascope::detect {

/// All that the judges found.
struct Findings {
  std::vector<Finding> ranks;    ///< by rank
  std::vector<Finding> classes;  ///< by class
  std::vector<Finding> stalls;   ///< by rank
  std::vector<Finding> links;    ///< by link
};

/// Puts findings that have one cause together: the ranks of a host, of a replica whose input varies, of a stage, the two
/// directions of a link. The most expensive first.
std::vector<Culprit> name_culprits(const Reduced& reduced, const Peers& peers, const WorkSeries& work, const Findings& findings,
                                   const Options& options);

}  // namespace megascope::detect
