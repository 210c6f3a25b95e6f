#pragma once

#include "analysis/detect/step_finder.h"
#include "analysis/match/match_tables.h"
#include "core/record/source.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace megascope::segments {

/// A stretch of a location's time: work, or a call that may wait for other ranks.
struct Segment {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t
      kind = 0;  ///< two segments of any processes with the same kind do the same work or call
  std::int64_t
      step = -1;  ///< the application's step number; read_gaps() and ProgramSegments count from 0
  std::uint32_t name = 0;  ///< index in Names
  std::uint32_t track = 0;
  bool is_work = true;
  /// true: the segment and the previous one on the track are parts of one operation, which was cut
  /// around an enclosed one
  bool continues = false;
};

/// The names of segments, shared by all processes of a run: a table from name to index. One thread.
class Names {
 public:
  /// Returns the index of a name. Adds it if it is new.
  std::uint32_t of(const std::string& name) {
    const auto [at, is_new] = index_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return at->second;
  }
  /// Returns the names by index. Call once, last.
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  std::vector<std::string> names_;
};

/// Appends the segments of one process to `segments`. The operations are the regions that a program
/// or another tool recorded with a step; regions without a step take that of the region around
/// them. Work that encloses other operations is cut around them; communication is not cut. Time
/// outside of all regions with a step is in no segment. The segments of each location are
/// contiguous and in order of begin.
void region_segments(const RecordSource& source, const analysis::MatchTables& tables,
                     std::size_t process_index, Names& names, std::vector<Segment>& segments);

/// Returns whether the run's records are operations recorded as regions, and not MPI calls.
bool is_of_regions(const RecordSource& source);

}  // namespace megascope::segments
