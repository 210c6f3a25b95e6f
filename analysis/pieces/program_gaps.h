#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/step_finder.h"
#include "analysis/pieces/region_run.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace megascope::pieces {

/// Where the steps of an MPI program are: annotated ones, else those that the markers end.
struct GapSteps {
  const detect::StepMarks* marks = nullptr;  ///< null: `markers` hold
  std::vector<detect::StepMarker> markers;   ///< by index in world_ranks()
};

struct GapLimits {
  std::size_t max_steps = SIZE_MAX;   ///< of each rank, from its first on
  std::size_t max_pieces = SIZE_MAX;  ///< of each rank; a rank that has more is read no further
  const std::unordered_set<std::uint64_t>* kinds = nullptr;  ///< only these; null: all
};

/// The work of the ranks of an MPI program between its calls.
struct GapRun {
  /// By process: its gaps, cut where annotated regions begin and end, and its calls. Pieces have
  /// one kind where they have the same place in steps of the same calls and regions. A gap has the
  /// name of the innermost region around it.
  RegionRun run;
  std::vector<std::uint64_t> sequences;  ///< by process: hash of the calls of most of its steps
  bool is_cut = false;  ///< a rank has more pieces than the limit; the rest of it is missing
};

/// Reads the judged locations once, up to the limits. Where steps are not annotated the first one
/// is omitted: it may hold the set-up. Memory: 48 bytes a piece.
GapRun read_gaps(const RecordSource& source, const GapSteps& steps, const GapLimits& limits);

}  // namespace megascope::pieces
