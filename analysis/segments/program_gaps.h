#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/step_finder.h"
#include "analysis/segments/region_run.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace megascope::segments {

/// The steps of an MPI program. `marks` gives their times. If it is null, `markers` gives the calls
/// that end them.
struct GapSteps {
  const detect::StepMarks* marks = nullptr;  ///< null: `markers` is used. Must outlive the object.
  std::vector<detect::StepMarker> markers;   ///< by index in world_ranks()
};

/// What read_gaps() reads.
struct GapLimits {
  std::size_t
      max_steps = SIZE_MAX;  ///< largest number of steps of a rank, counted from its first step
  std::size_t max_segments = SIZE_MAX;  ///< largest number of segments of a rank. Further calls of
                                        ///< the rank are not read
  /// The kinds of segments to return; nullptr: all kinds. Must outlive the call.
  const std::unordered_set<std::uint64_t>* kinds = nullptr;
};

/// The work of the ranks of an MPI program between its calls. Result of read_gaps().
struct GapRun {
  /// By process: its gaps, cut at begins and ends of annotated regions, and its calls. A gap has
  /// the name of the innermost region around it. Two segments have the same kind if they have the
  /// same position in steps with the same sequence of calls and gaps.
  RegionRun run;
  std::vector<std::uint64_t> sequences;  ///< by process: hash of the most frequent sequence of
                                         ///< calls and gaps in a step; 0: no step
  bool is_cut = false;  ///< a rank has more segments than the limit, so its segments are incomplete
};

/// Reads the gaps of all ranks: the judged location of each, once, up to the limits. If steps are
/// not annotated, the first step is omitted, because it may contain the set-up. Memory: 48 bytes a
/// segment.
GapRun read_gaps(const RecordSource& source, const GapSteps& steps, const GapLimits& limits);

}  // namespace megascope::segments
