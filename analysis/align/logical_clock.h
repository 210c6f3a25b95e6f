#pragma once

#include "analysis/align/order_constraints.h"
#include "analysis/align/time_correction.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// A controlled logical clock (R. Rabenseifner, "The controlled logical clock", 1997; D. Becker et
/// al., "Scalable timestamp synchronization for event traces of message-passing applications",
/// 2009): moments that come too early are moved behind what they need. Forward: after a move the
/// process's clock goes slower by a hundredth until it has caught up with itself, so that lengths
/// hardly change. Backward: what comes before a move is drawn along, a hundredth of the way, as far
/// as no rank who needs it comes too early. Nothing is ever moved to an earlier time. Result by
/// process: as in constraints. Linear.
std::vector<TimeCorrection> logical_clock(const OrderConstraints& constraints);

}  // namespace megascope::analysis
