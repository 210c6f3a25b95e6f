#pragma once

#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// Links whose messages take longer than on links like them: of messages as large, between the same
/// two classes of ranks, within a host or between hosts. A link that is the only one of its kind is
/// compared with its own past, and, by the messages that were all that their calls waited for, with
/// links between other classes. One finding a link, by index; excess as log factor.
std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options);

}  // namespace megascope::detect
