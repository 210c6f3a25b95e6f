#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/detect/step_times.h"
#include "core/record/source.h"

namespace megascope::detect {

/// A call that a rank makes once a step: the same function with the same peer, tag and size.
struct StepMarker {
  RegionId region = kNoRegion;  ///< kNoRegion: none was found
  Fact fact;                    ///< kind, comm, peer, tag and bytes count

  bool is_found() const { return region != kNoRegion; }
  bool matches(const Call& call) const {
    if (call.region != region || call.facts.empty() || call.depth != 0) return false;
    const Fact& first = call.facts.front();
    return first.kind == fact.kind && first.comm == fact.comm && first.peer == fact.peer && first.tag == fact.tag &&
           first.bytes == fact.bytes;
  }
};

/// The location whose calls are judged: the main thread's, else the first.
LocationId judged_location(const ProcessDefinitions& process);

/// The rarest call that comes back at even distances: the outermost loop. Of several, the one on the largest communicator,
/// then with the most bytes, so that ranks of one group choose alike. Reads a beginning of the trace, longer until it holds
/// eight steps; with fewer in all of the trace three are enough.
StepMarker find_step_marker(const RecordSource& source, std::int32_t world_rank);

/// Of told steps (RankMarks): their number of calls is counted.
StepTimes step_times_of(const RecordSource& source, std::int32_t world_rank, const std::vector<std::uint64_t>& begins_ns,
                        const std::vector<std::uint64_t>& ends_ns);
/// Reads all calls of the judged location.
StepTimes find_step_times(const RecordSource& source, std::int32_t world_rank);

}  // namespace megascope::detect
