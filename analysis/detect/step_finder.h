#pragma once

#include "analysis/detect/call_kinds.h"
#include "analysis/detect/step_times.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::detect {

/// The calls at which a rank's steps end: every `every`-th call of one kind (CallKind).
struct StepMarker {
  RegionId region = kNoRegion;  ///< kNoRegion: none was found
  EventKey key;                 ///< key of the first fact of calls of this kind
  std::uint32_t every = 1;      ///< number of calls of this kind in a step
  std::uint32_t
      offset = 0;  ///< the calls of this kind are numbered from 0; this one ends the first step

  bool is_found() const { return region != kNoRegion; }
  bool matches(const Call& call) const {
    if (call.region != region || call.facts.empty() || call.depth != 0) return false;
    const EventKey first(call.facts.front());
    return key.is_message_completion() ? first.is_message_completion() : first == key;
  }
};

/// Finds the ends of steps in a rank's sequence of calls.
class StepEnds {
 public:
  explicit StepEnds(const StepMarker& marker) : marker_(marker) {}
  /// Returns whether a step ends with this call. Must be called with all MPI calls of the rank's
  /// judged_location(), in order, and with no calls of other locations.
  bool end_at(const Call& call) {
    return marker_.matches(call) && count_++ % marker_.every == marker_.offset;
  }

 private:
  StepMarker marker_;
  std::uint64_t count_ = 0;
};

/// Returns the location whose calls are judged: the main thread's; 0 if none is marked as main.
LocationId judged_location(const ProcessDefinitions& process);

/// Finds the calls at which steps end, by index in world_ranks().
///
/// A step ends with the rarest call that recurs at even distances, that is, with the outermost
/// loop. The call must recur at least 16 times. If no call of the whole trace does, 8 times
/// suffice; if no call recurs 8 times, 3 times suffice. Among about equally rare calls, a
/// collective is preferred to other calls, then the call on the largest communicator, with the most
/// bytes, and the last call. Ranks of a group therefore choose the same call.
///
/// An inner loop (inner_loop.h) is used instead if both conditions hold: no rank has a call that
/// recurs 16 times in its whole trace, and all ranks have an inner loop and execute it about
/// equally often. Example: a program whose rarest call is a reduction in every tenth iteration.
///
/// Reads 4096 calls of each rank's judged_location(), then four times as many, until a call recurs
/// 16 times or the trace ends. jobs: threads, including the caller's.
std::vector<StepMarker> find_step_markers(const RecordSource& source, unsigned jobs);

/// Converts a rank's known step times (RankMarks) to StepTimes: reads its calls and counts those
/// from the first begin to the last end. Returns an empty result if ends_ns is empty.
StepTimes step_times_of(const RecordSource& source, std::int32_t world_rank,
                        const std::vector<std::uint64_t>& begins_ns,
                        const std::vector<std::uint64_t>& ends_ns);
/// Finds the steps of all ranks, by index in world_ranks(). Reads all calls of the judged
/// locations. jobs: threads, including the caller's.
std::vector<StepTimes> find_step_times(const RecordSource& source, unsigned jobs);

}  // namespace megascope::detect
