#pragma once

#include "core/record/event_view.h"
#include "core/record/rma_completion.h"
#include "core/record/source.h"
#include "exporters/otf2/calls.h"
#include "exporters/otf2/shared_windows.h"

#include <otf2/otf2.h>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace megascope::otf2 {

/// Determines which one-sided operations the calls of one process complete. With one thread this
/// happens while its calls are read. With several threads all calls are read once in advance, in
/// order of return, because a thread may complete operations of another thread.
class RmaProgress {
 public:
  using Done = RmaCompletion::Done;

  /// source must outlive this object.
  RmaProgress(const RecordSource& source, std::int32_t world_rank);

  /// Adds an operation. Call it at the Enter of the operation's call.
  void issue(const Fact& fact) {
    if (!has_threads_) completion_.add(fact);
  }
  /// Returns the operations that a call completes. Call it at the Leave of the call. call_index:
  /// number of the call among those of the location in order of entry, from 0. Valid until the next
  /// call of this function.
  std::span<const Done> complete(LocationId location, std::uint64_t call_index,
                                 std::span<const Fact> facts);

 private:
  struct Cursor;
  void read_all();
  void note(LocationId location, std::uint64_t call_index, std::span<const Fact> facts);

  const RecordSource& source_;
  std::int32_t world_rank_;
  bool has_threads_;
  bool has_read_ = false;
  RmaCompletion completion_;
  std::vector<Done> done_;
  std::vector<std::unordered_map<std::uint64_t, std::vector<Done>>> by_call_;  ///< by location
};

/// Writes one-sided facts as OTF2 events. Operations and requests have the time of the Enter,
/// completions and results that of the Leave.
/// No MPI operation is blocking for OTF2: local completion is RmaOpCompleteNonBlocking, remote
/// completion RmaOpCompleteRemote. There is no RmaAcquireLock, because MPI does not report when a
/// lock is granted; only RmaRequestLock and RmaReleaseLock are written. Windows that the archive
/// does not define are omitted.
class RmaEvents {
 public:
  /// All arguments must outlive this object. calls: of the location.
  RmaEvents(OTF2_EvtWriter* writer, Calls& calls, const ProcessWindows& ids)
      : writer_(writer), calls_(calls), ids_(ids) {}

  /// Write the event at the Enter. The functions that return a bool return true if finish() must be
  /// called for the fact at the Leave.
  void start(events::RmaOperation operation, std::uint64_t time_ns);
  bool start(events::RmaSync sync, std::uint64_t time_ns);
  bool start(events::WindowUse use, std::uint64_t time_ns);
  void complete(const RmaCompletion::Done& done, std::uint64_t time_ns);
  /// Writes the event at the Leave, after complete(). Returns the OTF2 id of the window if the
  /// event is RmaWinCreate or RmaWinDestroy; else ProcessWindows::kUndefined.
  std::uint32_t finish(const Fact& fact, std::uint64_t time_ns);
  /// Writes the event of an MPI_Test that finds the request of an operation incomplete.
  void test(events::RequestUse use, std::uint64_t time_ns);

 private:
  void finish(events::RmaSync sync, std::uint64_t time_ns);
  std::uint32_t finish(events::WindowUse use, std::uint64_t time_ns);
  void end_collective(std::uint32_t window, OTF2_CollectiveOp operation, OTF2_RmaSyncLevel level,
                      std::uint64_t time_ns);

  OTF2_EvtWriter* writer_;
  Calls& calls_;
  const ProcessWindows& ids_;
};

}  // namespace megascope::otf2
