#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"
#include "analysis/match/match_tables.h"
#include "core/record/source.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

/// Matching of sends with receives, and of the calls of a collective, in one pass over the calls of
/// all ranks. docs/analysis.md lists what is matched and what is not. Times are in ns on the clock
/// of the source.
namespace megascope::analysis {

/// The previous synchronisation of a track with its partner. This is the latest of three
/// operations: the previous message with the same partner in the same direction, the previous
/// collective on the same communicator, and the previous collective on all ranks. time_ns is a time
/// of the track itself. In MessageEnd::sync_before_start it is the start of a previous message; in
/// all other cases it is the end of the operation.
struct SyncPoint {
  std::uint64_t time_ns = 0;           ///< 0: there was no such operation
  std::uint32_t wait_point_count = 0;  ///< wait points of the track before time_ns
};

/// A call in which a track may have waited for another rank: a blocking send, receive, probe or
/// collective, or the completion of a request except by MPI_Test and similar. The wait points of a
/// track are numbered from 0 in order of entry.
struct WaitPoint {
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;
  RegionId region = kNoRegion;  ///< id in the definitions of the track's process
};
inline constexpr std::uint32_t kNoWaitPoint = 0xFFFFFFFF;

/// One end of a message.
struct MessageEnd {
  std::uint64_t name = 0;  ///< equal at both ends of a message; different for different messages
                           ///< with high probability; 0: unknown
  std::uint64_t start_ns = 0;  ///< entry of the call that started the send or posted the receive
  std::uint64_t
      enter_ns = 0;  ///< entry of the call that completed it; equal to start_ns for blocking calls
  std::uint64_t leave_ns = 0;
  std::uint64_t bytes = 0;
  SyncPoint sync_before_start;  ///< previous synchronisation, by its start. Used if the partner
                                ///< waits for this end
  SyncPoint sync_before_end;   ///< previous synchronisation, by its end. Used if this end waits for
                               ///< the partner
  Track track = 0;             ///< track that started it
  Track wait_point_track = 0;  ///< track that completed it; differs from `track` if another thread
                               ///< completed the request
  std::uint32_t start_wait_point = 0;       ///< wait points of `track` before start_ns
  std::uint32_t wait_point = kNoWaitPoint;  ///< wait point that completed it, on wait_point_track;
                                            ///< kNoWaitPoint: completed by a test, or never
  CommTable::Index comm = CommTable::kNone;
  std::int32_t world_rank = 0;
  std::int32_t partner = 0;  ///< world rank of the other end
  std::int32_t tag = 0;
  std::uint32_t partner_index = 0xFFFFFFFF;  ///< used by RankReader only
  bool is_send = false;
  bool is_alone = false;  ///< of a send: the call that completed it completed no receive. Of a
                          ///< receive: the call that completed it completed no send
};

/// The part of one process in a collective.
struct CollectiveEnd {
  std::uint64_t start_ns = 0;  ///< entry of the call that began it
  std::uint64_t
      enter_ns = 0;  ///< entry of the call that completed it; equal to start_ns for blocking calls
  std::uint64_t leave_ns = 0;
  std::uint64_t block_bytes = 0;  ///< CollectiveShape::bytes
  SyncPoint last_sync;  ///< the latest previous collective on this communicator or on all ranks, by
                        ///< its end
  Track track = 0;      ///< track that began it
  Track wait_point_track = 0;               ///< track that completed it
  std::uint32_t start_wait_point = 0;       ///< wait points of `track` before start_ns
  std::uint32_t wait_point = kNoWaitPoint;  ///< number on wait_point_track
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;
  std::uint32_t function = 0;  ///< index in MatchTables::functions
  std::int32_t root = kNoPeer;
  std::int32_t block_count = 1;
  std::int32_t comm_rank = 0;
  std::int32_t world_rank = 0;
  bool is_second_group = false;  ///< intercommunicators: the two groups have different values
  bool is_root = false;
  bool is_pending = false;  ///< the process had not completed it when its trace ended
};

/// The calls of all members of one collective. `members` is valid during
/// MatchSink::add_collective().
struct Collective {
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;
  std::uint32_t function = 0;
  bool is_whole = false;  ///< every member completed it, and all members' shapes match (do_match())
  std::span<const CollectiveEnd> members;  ///< in no particular order
};

/// Receives the results of match_run(). Threads:
/// - add_call() and add_wait_point() of one track are called in order of entry, by one thread at a
/// time. Different tracks are processed concurrently.
/// - add_message() and add_collective() are called concurrently by up to `task_count` threads, each
/// with a different `task`. They do not overlap with add_call() or add_wait_point().
/// - begin() and end_window() are called while no other function runs.
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  /// Called once per pass, first. task_count: number of tasks; `task` is below it.
  virtual void begin(std::size_t task_count) = 0;
  /// Receives every call of a track, in order of entry, before its wait points and matches. The
  /// call is valid during the function.
  virtual void add_call(Track, const Call&) {}
  virtual void add_wait_point(Track track, const WaitPoint& wait_point) = 0;
  virtual void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) = 0;
  virtual void add_collective(std::size_t task, const Collective& collective) = 0;
  /// Called after each window of time. All earlier wait points and matches have been delivered.
  virtual void end_window() = 0;
};

/// Why one end of a message, or a collective, was not matched. If several reasons apply, the one
/// listed first is used.
enum class Unmatched : std::uint8_t {
  kNoTrace,    ///< the other rank has no trace
  kLost,       ///< records were lost, or recording was off, at one of the two ranks
  kEnded,      ///< the other rank's trace ends without MPI_Finalize: killed, or trace truncated
  kNoPartner,  ///< both traces are complete, so the application never made the other call
  kCount
};
inline constexpr std::size_t kUnmatchedCount = static_cast<std::size_t>(Unmatched::kCount);

/// Call count and times of one track.
struct TrackTotals {
  std::uint64_t call_count = 0;
  std::uint64_t mpi_ns = 0;  ///< time in MPI calls, without MPI_Init and without nested calls
  std::uint64_t first_ns = ~std::uint64_t{
      0};                     ///< return of MPI_Init; without it, entry of the first call
  std::uint64_t last_ns = 0;  ///< the latest return
};

/// Totals of a matched run.
struct Matching {
  std::uint64_t call_count = 0;
  std::uint64_t message_count = 0;     ///< matched messages
  std::uint64_t collective_count = 0;  ///< collectives that all members completed
  std::uint64_t unmatched_sends[kUnmatchedCount] = {};
  std::uint64_t unmatched_receives[kUnmatchedCount] = {};
  std::uint64_t partial_collectives[kUnmatchedCount] =
      {};  ///< collectives that a member did not enter or did not complete
  std::uint64_t mismatch_count = 0;      ///< collectives on which the members disagree (Mismatch)
  std::uint64_t unsure_collectives = 0;  ///< collective calls that were not matched, on
                                         ///< communicators without a sure global name
  std::uint64_t greater_than_sent = 0;   ///< messages whose received size exceeds the sent size.
                                         ///< This indicates wrong matches
  std::uint64_t violation_count = 0;  ///< number of messages received before they were sent, plus
                                      ///< number of members that left a collective before a member
                                      ///< on which they depend entered it
  std::uint64_t worst_violation_ns = 0;  ///< largest time of a violation
  std::vector<Mismatch> mismatches;      ///< the first of each communicator
  std::vector<TrackTotals> tracks;       ///< by track
  RankStates states{
      0};  ///< copy of MatchTables::states in which truncated traces have has_losses set
  std::uint64_t max_in_flight = 0;  ///< largest number of unmatched ends at the end of a window

  std::uint64_t unmatched() const;  ///< number of unmatched message ends and partial collectives
  /// Counts a violation if late_ns precedes early_ns, although it must not.
  void check_order(std::uint64_t early_ns, std::uint64_t late_ns) {
    if (late_ns >= early_ns) return;
    ++violation_count;
    worst_violation_ns = std::max(worst_violation_ns, early_ns - late_ns);
  }
};

/// Matches all messages and collectives of a run and delivers them to `sink`. tables: made from
/// `source`. jobs: number of threads including the caller. Time: linear in calls. Memory: the
/// operations in flight and one window of about 4096 calls per thread. Passes on exceptions of the
/// source and the sink.
Matching match_run(const RecordSource& source, const MatchTables& tables, MatchSink& sink,
                   unsigned jobs);

}  // namespace megascope::analysis
