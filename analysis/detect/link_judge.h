#pragma once

#include "analysis/detect/work_judge.h"

#include <vector>

namespace megascope::detect {

/// Finds slow links. A link is compared with:
/// - its own past;
/// - links with the same size class and tag, between the same two classes of ranks, both within a
///   host or both between hosts;
/// - if the comparison above finds no other link: links with the same size class, of any tag and
///   any classes. Only messages are used that were the only operation for which their call waited.
///
/// Returns one finding for each of reduced.links; is_there() is false for healthy links.
std::vector<Finding> slow_links(const Reduced& reduced, const Peers& peers, const Options& options);

}  // namespace megascope::detect
