#pragma once

#include "analysis/detect/findings.h"
#include "analysis/detect/reduction.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Whether what makes a rank slow lies in one part of each slow step, now in this one, now in that:
/// pauses. Slow work lies in all parts, or always in the same. False where a step has only one part
/// that weighs. peers: of the rank's class, itself among them.
bool are_pauses(const Reduced& reduced, const std::vector<std::size_t>& peers, std::size_t rank,
                const Finding& finding);

}  // namespace megascope::detect
