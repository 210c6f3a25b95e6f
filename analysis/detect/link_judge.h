#pragma once

#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// Finds slow links. A link is compared with:
/// - its own past;
/// - links with the same size class and tag, between the same two classes of ranks, both within a
///   host or both between hosts;
/// - if there is no such other link: links of any tag and classes with the same size class, by
///   messages that were the only ones that their calls waited for.
/// Returns one finding for each of reduced.links; is_there() is false for healthy links.
std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options);

}  // namespace megascope::detect
