#pragma once

#include "analysis/waits/wait_states.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Waiting time by track, in ns: the time that a track waited itself (suffered), and the time that
/// other tracks waited because of it (caused).
struct DelayCosts {
  std::vector<std::uint64_t> suffered_ns;  ///< by track
  std::vector<double>
      caused_ns;  ///< by track: waiting time that the track caused directly or through other
                  ///< tracks. The sum over tracks equals the sum of suffered_ns
  std::vector<double> direct_ns;  ///< by track: the part of caused_ns suffered by tracks that
                                  ///< waited directly for this track
};

/// Attributes each wait state to the tracks that caused it, along chains of wait states (D. Böhme
/// et al., "Identifying the root causes of wait states in large-scale parallel applications", ICPP
/// 2010). In the interval since the waiting and the delaying track last synchronised, the delaying
/// track spent more time outside of wait states than the waiting track (its *delay*), or it waited
/// for other tracks. The wait time is divided in proportion between the delay and the waits of the
/// delaying track. The part of the delay is attributed to the delaying track. The part of its waits
/// is attributed to the tracks that caused these waits. If the delaying track did not wait, the
/// whole wait time is attributed to it.
///
/// One pass from the last wait point to the first: O(wait points · log tracks). Memory: 16 bytes
/// per wait point.
DelayCosts delay_costs(const WaitStates::WaitPoints& wait_points);

}  // namespace megascope::analysis
