#pragma once

#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Where clocks lie by what the program itself did.
struct Anchors {
  std::vector<TimeCorrection>
      corrections;  ///< by index in world_ranks(); all empty where no clock is contradicted
  std::vector<double> errors_ns;  ///< the same: how far it may be off then; < 0: not known

  double max_moved_ns = 0.0;  ///< by which a clock was set, at the run's begin or end

  bool is_any() const;
};

/// The program's messages and synchronising collectives bound how far two clocks can differ, from
/// both sides: nothing arrives before it was sent, no rank leaves a barrier before the last one
/// entered. Of a clock that was not measured and contradicts these bounds the line is found that
/// obeys them and is nearest to the clock as it is. Lines are composed from measured clocks on, or
/// from that of the lowest rank. Reads all calls once.
/// A line holds for the whole run: a clock that was stepped in it stays wrong in a part. Memory: up
/// to 6 KB for each two domains that exchanged messages. measured_ns: by index in world_ranks(),
/// how far each clock may be off as it was measured, < 0: it was not; those that were are left as
/// they are. Empty: none was.
Anchors find_anchors(const RecordSource& source, const MatchTables& tables,
                     const std::vector<double>& measured_ns, unsigned jobs);

}  // namespace megascope::analysis
