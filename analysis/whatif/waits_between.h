#pragma once

#include "analysis/match/match.h"
#include "analysis/whatif/operation_graph.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::whatif {

/// Identifies a segment, that is, a stretch of one thread's time (work or a communication call):
/// index of the process in the upper 32 bits, number of the segment in the process in the lower. In
/// runs without MPI calls, segments are numbered across all processes and the index of the process
/// is 0.
using SegmentKey = std::uint64_t;
inline constexpr SegmentKey kNoSegment = ~SegmentKey{0};
inline constexpr SegmentKey segment_key(std::size_t process_index, std::size_t number) {
  return std::uint64_t{process_index} << 32 | number;
}

/// Converts segment keys to indices of operations. The operations of a process are contiguous;
/// processes are added in order of index.
class SegmentNumbers {
 public:
  /// Adds the next process, which has `count` segments.
  void add_process(std::size_t count) {
    first_.push_back(first_.back() + static_cast<OperationIndex>(count));
  }
  /// Returns the operation of a segment; kNone if the segment was dropped. The process of `key` has
  /// been added.
  OperationIndex of(SegmentKey key) const {
    const auto process = static_cast<std::size_t>(key >> 32);
    const auto index = first_[process] + static_cast<OperationIndex>(key);
    return index < first_[process + 1] ? index : kNone;
  }

 private:
  std::vector<OperationIndex> first_ = {0};
};

/// Finds the communication segment that begins at a given time on a given track.
class SegmentIndex {
 public:
  explicit SegmentIndex(std::size_t track_count) : by_track_(track_count) {}
  /// Adds a segment. Segments of one track are added in ascending order of begin, by one thread at
  /// a time; different tracks concurrently.
  void add(analysis::Track track, std::uint64_t begin_ns, SegmentKey segment) {
    by_track_[track].push_back({begin_ns, segment});
  }
  /// Returns the communication segment of `track` that begins exactly at begin_ns; kNoSegment if
  /// there is none. Logarithmic in the number of the track's segments.
  SegmentKey at(analysis::Track track, std::uint64_t begin_ns) const;

 private:
  struct Entry {
    std::uint64_t begin_ns = 0;
    SegmentKey segment = 0;
  };
  std::vector<std::vector<Entry>> by_track_;
};

/// Collects the dependencies between segments while a run is matched: which starts must have
/// happened before a segment can end.
class WaitSink final : public analysis::MatchSink {
 public:
  /// index: outlives the object. It holds the segments of all calls of a match before the match is
  /// delivered. is_synchronous: true for transfers between GPUs: every send ends together with its
  /// receive, and all members of every collective wait for each other. false for calls of an MPI
  /// program: a call waits only if its times show it.
  WaitSink(const SegmentIndex& index, bool is_synchronous)
      : index_(index), is_synchronous_(is_synchronous) {}

  void begin(std::size_t task_count) override { tasks_.assign(task_count, {}); }
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override;
  void add_collective(std::size_t task, const analysis::Collective& collective) override;
  void end_window() override {}

  /// The end of `segment` needs the start of `of`.
  struct Need {
    SegmentKey segment = 0;
    SegmentKey of = 0;
    auto operator<=>(const Need&) const = default;
  };
  /// A collective in which each member waited for all others.
  struct Instance {
    std::vector<SegmentKey> starts;  ///< segments of the calls that began it, by member
    /// Segments of the calls that completed it, by member; kNoSegment: not replayed.
    std::vector<SegmentKey> ends;
  };
  /// These functions return all dependencies of the pass and take them out of the object; call each
  /// once, after the pass. Needs: ascending, without duplicates. Instances: in ascending order of
  /// `starts`. The result does not depend on the number of threads.
  std::vector<Need> take_needs();
  std::vector<Instance> take_instances();

 private:
  struct Task {
    std::vector<Need> needs;
    std::vector<Instance> instances;
  };
  static void add_rooted(Task& task, const analysis::Collective& collective,
                         const Instance& instance);

  const SegmentIndex& index_;
  bool is_synchronous_;
  std::vector<Task> tasks_;
};

}  // namespace megascope::whatif
