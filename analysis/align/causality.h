#pragma once

#include "analysis/align/anchors.h"
#include "analysis/align/time_correction.h"
#include "analysis/match/match.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// What had to be moved so that no message is received before it was sent, and no rank leaves a
/// collective before those entered that he needs.
struct Causality {
  std::uint64_t violations_before = 0;
  std::uint64_t worst_before_ns = 0;        ///< the largest of them
  std::uint64_t max_moved_ns = 0;           ///< the largest move of a moment
  Anchors anchors;                          ///< lines on which clocks were set first
  std::vector<TimeCorrection> corrections;  ///< behind those; of source.world_ranks(), in this
                                            ///< order; all empty where nothing was moved
};

/// A run in possible times. whole: outlives the object.
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

/// matching: of a pass over `source` with `tables`. measured_ns: as of find_anchors(). Where it
/// found no violation, nothing is read again; else calls are read up to four times more, seldom
/// six. Memory: 32 bytes a message that the moves could reach.
Causality restore_causality(const RecordSource& source, const MatchTables& tables,
                            const Matching& matching, const std::vector<double>& measured_ns,
                            unsigned jobs);

/// The same without a pass before; for those who want nothing but the times.
Causality restore_causality(const RecordSource& source, const std::vector<double>& measured_ns,
                            unsigned jobs);

}  // namespace megascope::analysis
