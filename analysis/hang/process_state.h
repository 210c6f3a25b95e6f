#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/collective_step.h"
#include "core/record/event_view.h"
#include "core/record/source.h"

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// An operation that was started and whose completion is not recorded.
struct OpenOperation {
  Fact posted;  ///< the event that started it: Send, PostedReceive, Collective, FileTransfer,
                ///< RmaOperation
  RequestId request = kNoRequest;
  Slot slot = kNoSlot;          ///< collectives: the communicator, window or file
  std::uint32_t sequence = 0;   ///< collectives: number of the collective on `slot`, from 0
  RegionId region = kNoRegion;  ///< function of the call that started it
  LocationId location = 0;      ///< thread that started it
  std::uint64_t since_ns = 0;   ///< entry of that call
};

/// The part of a process's window synchronisation that other processes may wait for. Only calls
/// that returned are counted.
struct OneSidedState {
  /// Number of calls of MPI_Win_post and similar, by window, group and function (a constant of rma,
  /// such as rma::kPost).
  std::map<std::tuple<WinId, GroupId, std::uint64_t>, std::uint64_t> group_syncs;
  /// Locks held, by window and target rank (kNoPeer: all targets). Value: whether the lock is
  /// exclusive.
  std::map<std::pair<WinId, std::int32_t>, bool> locks;
};

/// Last recorded state of one thread.
struct ThreadState {
  LocationId location = 0;
  bool has_called = false;  ///< false: the fields below are unset, except has_ended
  bool is_inside = false;   ///< true: the thread is in a call of `region`. false: this call was the
                            ///< last one of the thread and has returned
  bool has_ended = false;   ///< the thread has ended
  RegionId region = kNoRegion;
  CommId comm = kNoComm;
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;    ///< return of the call; unset if is_inside
  std::vector<Fact> posted;      ///< is_inside: facts about the call's arguments
  std::uint64_t poll_count = 0;  ///< consecutive unsuccessful tests and probes up to the last call
  std::uint64_t poll_since_ns = 0;  ///< entry of the first of these tests and probes
};

/// Progress of a process through the collectives on one communicator, window or file.
struct CommProgress {
  std::uint32_t
      first = 0;  ///< number of the first recorded collective; not 0: earlier ones are lost
  std::uint32_t count = 0;           ///< number of collectives begun, including lost ones
  bool has_holes = false;            ///< some collectives in between were not recorded
  RegionId last_region = kNoRegion;  ///< function of the last collective
  std::uint64_t sum = 0;             ///< sum of hash_of() over all recorded collectives
  /// The value of `sum` after collective n is at index n modulo kRecentCount, for the last
  /// kRecentCount collectives.
  static constexpr std::uint32_t kRecentCount = 32;
  std::vector<std::uint64_t> recent;

  /// Computes the sum over the first `number` collectives. Returns false if it is unknown: the
  /// collective is more than kRecentCount collectives ago, or collectives were lost.
  bool sum_of_first(std::uint32_t number, std::uint64_t& result) const;
};

/// State of a process at the end of its records.
struct ProcessState {
  std::int32_t world_rank = 0;
  const ProcessDefinitions* definitions = nullptr;  ///< owned by the source
  std::vector<ThreadState> threads;                 ///< by location
  std::vector<OpenOperation> open;                  ///< in order of start
  std::vector<CommProgress> progress;               ///< by slot
  OneSidedState one_sided;
  bool has_finalized = false;  ///< MPI_Finalize was entered
  bool has_losses = false;    ///< calls are missing in its trace, so that counts of messages may be
                              ///< wrong
  bool may_be_ahead = false;  ///< calls may be missing at the end, so that its current state is
                              ///< unknown

  const CommProgress* progress_on(Slot slot) const {
    return slot < progress.size() ? &progress[slot] : nullptr;
  }
};

/// Reads all calls of a process once. Memory: its open operations, 300 bytes per communicator,
/// window and file, and the groups used to synchronise windows. source: must outlive the result.
/// functions: of this process.
ProcessState read_process(const RecordSource& source, std::int32_t world_rank,
                          const FunctionTable& functions);

}  // namespace megascope::analysis
