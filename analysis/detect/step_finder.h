#pragma once

#include "analysis/detect/call_kinds.h"
#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::detect {

/// The calls at which a rank's steps end: the same function with the same peer, tag and size; of
/// those that complete messages the same function.
struct StepMarker {
  RegionId region = kNoRegion;  ///< kNoRegion: none was found
  Fact fact;                    ///< kind, comm, peer, tag and bytes count
  std::uint32_t every = 1;      ///< such calls in a step
  std::uint32_t offset = 0;     ///< of the first step's last one; then every `every`-th

  bool is_found() const { return region != kNoRegion; }
  bool matches(const Call& call) const {
    if (call.region != region || call.facts.empty() || call.depth != 0) return false;
    const Fact& first = call.facts.front();
    if (is_completion(fact)) return is_completion(first);
    return first.kind == fact.kind && first.comm == fact.comm && first.peer == fact.peer &&
           first.tag == fact.tag && first.bytes == fact.bytes;
  }
};

/// Is shown a rank's calls in their order.
class StepEnds {
 public:
  explicit StepEnds(const StepMarker& marker) : marker_(marker) {}
  bool end_at(const Call& call) {
    return marker_.matches(call) && count_++ % marker_.every == marker_.offset;
  }

 private:
  StepMarker marker_;
  std::uint64_t count_ = 0;
};

/// The location whose calls are judged: the main thread's, else the first.
LocationId judged_location(const ProcessDefinitions& process);

/// By index in world_ranks(). The rarest call that comes back at even distances: the outermost
/// loop. Of several, the one on the largest communicator, then with the most bytes, so that ranks
/// of one group choose alike. Reads a beginning of the trace, longer until it holds 16 steps; with
/// fewer in all of the trace three are enough. Then an inner loop (inner_loop.h) is better, such as
/// that around a sum every tenth iteration, if all ranks have one and go round it equally often.
/// jobs: threads.
std::vector<StepMarker> find_step_markers(const RecordSource& source, unsigned jobs);

/// Of told steps (RankMarks): their number of calls is counted.
StepTimes step_times_of(const RecordSource& source, std::int32_t world_rank,
                        const std::vector<std::uint64_t>& begins_ns,
                        const std::vector<std::uint64_t>& ends_ns);
/// By index in world_ranks(). Reads all calls of the judged locations.
std::vector<StepTimes> find_step_times(const RecordSource& source, unsigned jobs);

}  // namespace megascope::detect
