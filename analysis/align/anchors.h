#pragma once

#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Corrections of clocks, computed from the order of the application's messages and collectives.
struct Anchors {
  std::vector<TimeCorrection>
      corrections;  ///< by index in world_ranks(); all empty if no clock is moved
  std::vector<double>
      errors_ns;  ///< by index in world_ranks(): error bound of the corrected clock; < 0: unknown

  double max_moved_ns = 0.0;  ///< largest adjustment of a clock, at the start or end of the run

  /// Returns whether any clock is moved.
  bool is_any() const;
};

/// Computes a correction line (offset and rate) for each clock domain that was not measured and is
/// bounded from both sides, by messages or synchronising collectives, relative to a clock that is
/// measured or already placed. A message cannot arrive before it was sent, which bounds the
/// difference of two clocks from one side; no rank leaves a barrier before the last one enters,
/// which bounds it from both sides. Between two clocks that do not contradict each other the line
/// is 0; otherwise it is the smallest multiple of the line in the middle of the bounds that
/// satisfies them. Starting from the measured clocks (without any: from the clock of the lowest
/// rank), the lines of pairs of clocks are composed, pairs with the smallest error first.
///
/// jobs: maximum number of threads.
/// measured_ns: by index in world_ranks(), error bound of each measured clock, < 0: not measured;
/// empty: no clock was measured. Measured clocks keep their rate and offset relative to each other.
///
/// Reads all calls once, unless all clocks are measured or there is only one. Memory: up to 6 KB
/// for each pair of clock domains that exchanged messages. Limit: a line holds for the whole run,
/// so that a clock that was stepped during the run stays wrong in a part of it.
Anchors find_anchors(const RecordSource& source, const MatchTables& tables,
                     const std::vector<double>& measured_ns, unsigned jobs);

}  // namespace megascope::analysis
