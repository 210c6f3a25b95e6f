#pragma once

#include "analysis/align/order_constraints.h"
#include "analysis/align/time_correction.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// A controlled logical clock (R. Rabenseifner, "The controlled logical clock", 1997; D. Becker et
/// al., "Scalable timestamp synchronization for event traces of message-passing applications",
/// 2009): moves moments that violate a constraint to the earliest time that satisfies it.
/// - Forward: after a move the process's clock runs slower by 1 % until the move is compensated, so
///   that durations hardly change.
/// - Backward: moments before a move are moved as well, by less the further away they are: 1 ns
///   less for each 100 ns of distance. A moment is not moved further than its constraints allow.
///
/// Moments are never moved to earlier times. Returns the corrections by process, as indexed in
/// `constraints`. O(moments), at most eight rounds. Wrong matches can produce a cycle of
/// constraints. The cycle is broken, and its constraints may stay violated.
std::vector<TimeCorrection> logical_clock(const OrderConstraints& constraints);

}  // namespace megascope::analysis
