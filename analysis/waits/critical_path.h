#pragma once

#include "analysis/waits/wait_states.h"

#include <cstdint>
#include <map>
#include <vector>

namespace megascope::analysis {

/// The critical path: the chain of work and communication that determines the length of the run (D.
/// Böhme et al., ICPP 2010). No wait state lies on it. Shortening work outside of it does not
/// shorten the run. Times in ns.
struct CriticalPath {
  std::uint64_t length_ns = 0;  ///< time from the start of the path to the end of the run
  std::vector<std::uint64_t> by_track_ns;  ///< part of length_ns on each track
  std::map<std::uint32_t, std::uint64_t>
      by_function_ns;  ///< part in wait points, by index in FunctionIndex
  std::uint64_t
      outside_ns = 0;  ///< part outside of wait points: computation, and calls that never wait
  std::uint64_t switch_count = 0;  ///< switches from one track to another
};

/// Computes the path backwards from the last return of the run: along a track to its last wait
/// state, then along the track that it waited for. wait_points, totals: by track. O(wait points).
CriticalPath critical_path(const WaitStates::WaitPoints& wait_points,
                           const std::vector<TrackTotals>& totals, const MatchTables& tables);

}  // namespace megascope::analysis
