#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/collective_step.h"
#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// An operation that was started and has not been seen to complete.
struct OpenOperation {
  Fact posted;  ///< kSendRequest, kRecvRequest, kCollectiveRequest, kFileReadRequest …, kRput …
  Slot slot = kNoSlot;  ///< of a collective, and its number there
  std::uint32_t sequence = 0;
  RegionId region = kNoRegion;  ///< of the call that started it
  LocationId location = 0;      ///< of the thread that did
  std::uint64_t since_ns = 0;
};

/// What a process has done so far in windows, as far as others wait for it. By calls that returned.
struct OneSidedState {
  /// Calls of MPI_Win_post … (rma::kPost …) on a window with a group.
  std::map<std::tuple<WinId, GroupId, std::uint64_t>, std::uint64_t> group_syncs;
  /// Locks that are held: window and target (kNoPeer: of all), and whether exclusively.
  std::map<std::pair<WinId, std::int32_t>, bool> locks;
};

/// Where one thread was last seen.
struct ThreadState {
  LocationId location = 0;
  bool has_called = false;  ///< false: nothing else here means anything
  bool is_inside = false;   ///< in the call below; else that is the last one that returned
  bool has_ended = false;   ///< the thread is no more
  RegionId region = kNoRegion;
  CommId comm = kNoComm;
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;       ///< of a call that returned
  std::vector<Fact> posted;         ///< of a call it is in
  std::uint64_t poll_count = 0;     ///< unsuccessful tests and probes in a row, up to the last call
  std::uint64_t poll_since_ns = 0;  ///< entry of the first of them
};

/// How far a process is on one of its communicators, windows or files.
struct CommProgress {
  std::uint32_t first = 0;  ///< number of the first collective seen; not 0: its beginning is lost
  std::uint32_t count = 0;  ///< collectives begun: the last one has number count - 1
  bool has_holes = false;   ///< some numbers in between were not seen
  RegionId last_region = kNoRegion;  ///< of the last one
  std::uint64_t sum = 0;             ///< of hash_of() over all that were seen
  /// `sum` after number n is at n modulo the size, for the last ones.
  static constexpr std::uint32_t kRecentCount = 32;
  std::vector<std::uint64_t> recent;

  /// The sum over the first `number` collectives; false when that is not known any more.
  bool sum_of_first(std::uint32_t number, std::uint64_t& result) const;
};

struct ProcessState {
  std::int32_t world_rank = 0;
  const ProcessDefinitions* definitions = nullptr;  ///< of the source
  std::vector<ThreadState> threads;                 ///< by location
  std::vector<OpenOperation> open;                  ///< in the order in which they were started
  std::vector<CommProgress> progress;               ///< by slot
  OneSidedState one_sided;
  bool has_finalized = false;  ///< MPI_Finalize was entered; its record has no length
  bool has_losses = false;     ///< calls are missing in its trace: what is told of messages may be
                               ///< wrong
  bool
      may_be_ahead = false;  ///< they are missing at its end, or anywhere: where it is is not known

  const CommProgress* progress_on(Slot slot) const {
    return slot < progress.size() ? &progress[slot] : nullptr;
  }
};

/// One pass over the calls of a process. Memory: its open operations, 300 bytes a communicator,
/// window and file, and the groups that windows were synchronised with. source outlives the result.
ProcessState read_process(const RecordSource& source, std::int32_t world_rank,
                          const FunctionTable& functions);

}  // namespace megascope::analysis
