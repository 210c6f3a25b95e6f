#pragma once

#include <cstdint>
#include <vector>

#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

namespace megascope::analysis {

/// What had to be moved so that no message is received before it was sent, and nobody leaves a collective before those
/// entered that he needs.
struct Causality {
  std::uint64_t violations_before = 0;
  std::uint64_t worst_before_ns = 0;   ///< the largest of them
  std::uint64_t moved_most_ns = 0;     ///< the largest move of a moment
  std::vector<TimeCorrection> corrections;  ///< of source.world_ranks(), in this order; all empty where nothing was moved
};

/// matching: of a pass over `source` with `tables`. Where it found no violation, nothing is read again; else calls are read
/// once more, seldom twice. Memory: 32 bytes a message that the moves could reach.
Causality restore_causality(const RecordSource& source, const MatchTables& tables, const Matching& matching, unsigned jobs);

/// The same without a pass before; for those who want nothing but the times.
Causality restore_causality(const RecordSource& source, unsigned jobs);

}  // namespace megascope::analysis
