#pragma once

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

/// Which one-sided operations the calls of one process complete. Of one thread it is found out
/// while its calls are read. Of several, all are read once before, in the order in which calls
/// returned: a thread may complete what another issued.
class RmaProgress {
 public:
  using Done = RmaCompletion::Done;

  /// source: must outlive this object.
  RmaProgress(const RecordSource& source, std::int32_t world_rank);

  /// An operation is entered.
  void issue(const Fact& fact) {
    if (!has_threads_) completion_.add(fact);
  }
  /// What a call completes, now that it is left. call_index: of the location's calls in order of
  /// entry, from 0. Valid until the next one is asked.
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

/// Writes one-sided facts as OTF2 events. Operations and what a call asks for have the time of its
/// Enter; completions and what a call has done that of its Leave. No operation of MPI blocks: its
/// local completion is an RmaOpCompleteNonBlocking, its remote one an RmaOpCompleteRemote. There is
/// no RmaAcquireLock, because MPI does not tell when a lock was granted: RmaRequestLock,
/// RmaReleaseLock. What the archive does not define is left out.
class RmaEvents {
 public:
  /// All must outlive this object. calls: the location's.
  RmaEvents(OTF2_EvtWriter* writer, Calls& calls, const ProcessWindows& ids)
      : writer_(writer), calls_(calls), ids_(ids) {}

  /// At the Enter. True: the fact has more to say at the Leave.
  bool start(const Fact& fact, std::uint64_t time_ns);
  void complete(const RmaCompletion::Done& done, std::uint64_t time_ns);
  /// At the Leave, after what the call completes. window: the OTF2 id where the event is
  /// RmaWinCreate or RmaWinDestroy.
  void finish(const Fact& fact, std::uint64_t time_ns, std::uint32_t& window);
  /// MPI_Test of an operation's request that goes on.
  void test(const Fact& fact, std::uint64_t time_ns);

 private:
  void start_operation(const Fact& fact, std::uint32_t window, std::uint64_t time_ns);
  void end_collective(const Fact& fact, std::uint32_t window, std::uint64_t time_ns);

  OTF2_EvtWriter* writer_;
  Calls& calls_;
  const ProcessWindows& ids_;
};

}  // namespace megascope::otf2
