#pragma once

#include "analysis/waits/wait_states.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

/// The chain of work that the run's length is made of: no wait lies on it, and to shorten something
/// beside it gains nothing.
struct CriticalPath {
  std::uint64_t length_ns = 0;             ///< from its begin to the run's end
  std::vector<std::uint64_t> by_track_ns;  ///< of it
  std::map<std::uint32_t, std::uint64_t>
      by_function_ns;              ///< in calls where tracks may wait, by FunctionIndex
  std::uint64_t outside_ns = 0;    ///< outside of those calls: computing, and calls that never wait
  std::uint64_t switch_count = 0;  ///< from one track to another
};

/// From the last return of the run backwards: along a track to its last wait, then on at whom it
/// waited for. totals: by track. O(stops).
CriticalPath critical_path(const WaitStates::WaitPoints& wait_points,
                           const std::vector<TrackTotals>& totals, const MatchTables& tables);

}  // namespace megascope::analysis
