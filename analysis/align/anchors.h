#pragma once

#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Corrections of clocks, computed from the order of the application's messages and collectives.
struct Anchors {
  std::vector<TimeCorrection>
      corrections;                ///< by index in world_ranks(); all empty if no clock is moved
  std::vector<double> errors_ns;  ///< by index in world_ranks(): error bound of the corrected
                                  ///< clock. Negative values mean unknown

  double max_moved_ns = 0.0;  ///< largest adjustment of a clock, at the start or end of the run

  /// Returns whether any clock is moved.
  bool is_any() const;
};

/// Computes a correction line (offset and rate) for each clock domain that was not measured and is
/// bounded from both sides, by messages or synchronising collectives, relative to a clock that is
/// measured or already placed. A message cannot arrive before it was sent, so each message bounds
/// the difference of two clocks from one side. No rank leaves a barrier before the last rank
/// enters, so each barrier bounds the difference from both sides.
///
/// For each pair of clocks, a line of zero is used if it satisfies the bounds. Otherwise the line
/// in the middle of the bounds is scaled by the smallest factor with which it satisfies them. The
/// lines of pairs are then composed: the corrections start at the measured clocks and are extended
/// to further clocks in ascending order of the total error. If no clock was measured, they start at
/// the clock of the lowest rank.
///
/// jobs: maximum number of threads.
///
/// measured_ns: by index in world_ranks(), the error bound of each clock. A negative value means
/// that the clock was not measured. An empty vector means that no clock was measured. Measured
/// clocks keep their rate and offset relative to each other.
///
/// Reads all calls once. Reads no calls if all clocks are measured or if there is only one clock.
/// Memory: up to 6 KB for each pair of clock domains that exchanged messages. Limit: a line holds
/// for the whole run, so that a clock that was stepped during the run stays wrong in a part of it.
Anchors find_anchors(const RecordSource& source, const MatchTables& tables,
                     const std::vector<double>& measured_ns, unsigned jobs);

}  // namespace megascope::analysis
