#pragma once

#include "analysis/match/match_tables.h"
#include "analysis/segments/segment.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::segments {

/// The segments of all processes of a run of regions, that is, a run of annotated or imported
/// operations without MPI calls. A segment is a stretch of one thread's time: work or
/// communication. Segment indices of HiddenSync and of operation graphs refer to this object.
/// Memory: 48 bytes a segment.
struct RegionRun {
  std::vector<std::vector<Segment>>
      processes;  ///< by index in world_ranks(); each location's segments in order of begin
  std::vector<std::string> names;  ///< by Segment::name

  std::size_t segment_count() const {
    std::size_t count = 0;
    for (const std::vector<Segment>& segments : processes) count += segments.size();
    return count;
  }
};

/// Reads the segments of all processes. source: is_of_regions() is true. One pass over all records.
RegionRun read_regions(const RecordSource& source, const analysis::MatchTables& tables);

}  // namespace megascope::segments
