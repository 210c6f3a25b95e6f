#pragma once

#include "analysis/detect/findings.h"
#include "analysis/detect/reduction.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Returns whether a slow rank has pauses and not slow work. In each slow step, the excess of a
/// pause is in a single one of the step's parts, in different parts from step to step. Slow work is
/// in all parts, or always in the same one. Steps in which fewer than two parts have 3 % of the
/// work are not used; false if fewer than three steps remain. peers: indices into reduced.ranks of
/// the rank's class, including `rank`.
bool are_pauses(const Reduced& reduced, const std::vector<std::size_t>& peers, std::size_t rank,
                const Finding& finding);

}  // namespace megascope::detect
