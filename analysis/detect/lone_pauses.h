#pragma once

#include "analysis/detect/findings.h"
#include "analysis/detect/reduction.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Returns whether a slow rank has pauses and not slow work. A pause makes one part (reduction.h)
/// of a step longer, and a different part in other steps. Slow work makes all parts longer, or the
/// same part in all steps. Steps are not used if fewer than two of their parts have 3 % of the
/// work. Returns false if fewer than three slow steps remain. peers: indices into reduced.ranks of
/// the rank's class, including `rank`.
bool are_pauses(const Reduced& reduced, const std::vector<std::size_t>& peers, std::size_t rank,
                const Finding& finding);

}  // namespace megascope::detect
