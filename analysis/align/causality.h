#pragma once

#include "analysis/align/anchors.h"
#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Corrections after which no message is received before it was sent, and no member leaves a
/// collective before the members on which it depends have entered. Times in ns.
struct Causality {
  std::uint64_t violations_before = 0;
  std::uint64_t worst_before_ns = 0;  ///< largest violation before the correction
  std::uint64_t max_moved_ns = 0;     ///< largest correction by the logical clock
  Anchors anchors;                    ///< corrections of whole clocks; applied first
  std::vector<TimeCorrection>
      corrections;  ///< corrections of single moments, applied to times after `anchors`; by index
                    ///< in source.world_ranks(); all empty if nothing was moved
};

/// A run in corrected times: applies both steps of `causality`. `whole` must outlive the object.
class InOrder {
 public:
  InOrder(const RecordSource& whole, const Causality& causality)
      : anchored_(whole, causality.anchors.corrections),
        ordered_(anchored_, causality.corrections) {}
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;
  const RecordSource& source() const { return ordered_; }

 private:
  CorrectedSource anchored_;
  CorrectedSource ordered_;
};

/// Computes the corrections of a run. matching: result of match_run() over `source` with `tables`.
/// measured_ns: as for find_anchors(). Reads no call if `matching` has no violations. Otherwise
/// reads all calls one to three times. If a correction turns out larger than the maximum that was
/// assumed, reads them once more with a larger maximum. Memory: 32 bytes per message that a
/// correction could affect.
Causality restore_causality(const RecordSource& source, const MatchTables& tables,
                            const Matching& matching, const std::vector<double>& measured_ns,
                            unsigned jobs);

/// Calls match_run() and then computes the corrections of a run. For callers that do not need the
/// matches themselves.
Causality restore_causality(const RecordSource& source, const std::vector<double>& measured_ns,
                            unsigned jobs);

}  // namespace megascope::analysis
