#pragma once

#include <vector>

#include "analysis/detect/work_judge.h"

namespace megascope::detect {

/// Links whose quickest message of a step takes longer than on links like them: of messages as large, between the same two
/// classes of ranks, within a host or between hosts; where those are fewer than three, whatever the classes. A link without
/// peers is compared with its own past. One finding a link, by index; excess as log factor.
std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options);

}  // namespace megascope::detect
