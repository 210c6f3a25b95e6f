#pragma once

#include "analysis/waits/wait_states.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Seconds of waiting by track: suffered by it, and caused by it.
struct DelayCosts {
  std::vector<std::uint64_t> suffered_ns;  ///< by track
  std::vector<double> caused_ns;           ///< by track; their sum is that of suffered_ns
  std::vector<double> direct_ns;  ///< the part that tracks which waited for it themselves suffered
};

/// Who caused the waits, carried back along chains (D. Böhme et al., "Identifying the root causes
/// of wait states in large-scale parallel applications", ICPP 2010): in the interval since the two
/// met before, the root cause of a wait took some time more than the waiter outside of waits (its
/// *delay*), and waited itself for others. The wait is divided in proportion between the delay,
/// which that rank caused, and those waits, whose cost is carried to their own root causes. Where
/// there is neither, that rank caused it. One pass from the last stop to the first: O(stops · log
/// tracks). Memory: 16 bytes a stop.
DelayCosts delay_costs(const WaitStates::WaitPoints& wait_points);

}  // namespace megascope::analysis
