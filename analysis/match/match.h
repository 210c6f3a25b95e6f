#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"
#include "analysis/match/match_tables.h"
#include "core/record/source.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

/// Which send goes with which receive, and which calls are one collective: one pass over the calls
/// of all ranks, side by side in windows of time. docs/analysis.md says what is matched and what is
/// not.
namespace megascope::analysis {

/// When two tracks last met before, on one of them: in a message of one to the other, or in a
/// collective of both. The moment is that of the meeting's own start (where a track is the one
/// waited for) or end (where it waits).
struct Meeting {
  std::uint64_t time_ns = 0;           ///< 0: never before
  std::uint32_t wait_point_count = 0;  ///< stops of the track before that moment
};

/// A *stop*: a call in which a track may have waited for others: a blocking send, receive, probe or
/// collective, or a completion that is no test. The stops of a track are numbered in order of
/// entry.
struct WaitPoint {
  std::uint64_t enter_ns = 0;
  std::uint64_t leave_ns = 0;
  RegionId region = kNoRegion;  ///< of its process
};
inline constexpr std::uint32_t kNoWaitPoint = 0xFFFFFFFF;

/// One end of a message.
struct MessageEnd {
  std::uint64_t name = 0;      ///< equal at both ends, and of no other message; 0: not known
  std::uint64_t start_ns = 0;  ///< entry of the call that started the send or posted the receive
  std::uint64_t enter_ns = 0;  ///< of the call that completed it; of a blocking one the same
  std::uint64_t leave_ns = 0;
  std::uint64_t bytes = 0;
  Meeting met_at_start;        ///< the last message to (from) this partner, by its start
  Meeting met_at_end;          ///< the same, by its end
  Track track = 0;             ///< that started it
  Track wait_point_track = 0;  ///< that completed it: another one where a thread hands its request
                               ///< over
  std::uint32_t start_wait_point = 0;       ///< stops of the track before start_ns
  std::uint32_t wait_point = kNoWaitPoint;  ///< the call that completed it; kNoWaitPoint: it did
                                            ///< not wait there (a test), or never completed
  CommTable::Index comm = CommTable::kNone;
  std::int32_t world_rank = 0;
  std::int32_t partner = 0;  ///< world rank of the other end
  std::int32_t tag = 0;
  std::uint32_t partner_index = 0xFFFFFFFF;  ///< for who made it
  bool is_send = false;
  bool
      is_alone = false;  ///< the call that completed it completed no message of the other direction
};

/// How one process took part in a collective.
struct CollectiveEnd {
  std::uint64_t start_ns = 0;  ///< entry of the call that began it
  std::uint64_t enter_ns = 0;  ///< of the call that completed it; of a blocking one the same
  std::uint64_t leave_ns = 0;
  std::uint64_t block_bytes = 0;  ///< what members must say alike (CollectiveShape)
  Meeting met;  ///< the last collective before on this communicator or one of all ranks, by its end
  Track track = 0;             ///< that began it
  Track wait_point_track = 0;  ///< that completed it
  std::uint32_t start_wait_point = 0;
  std::uint32_t wait_point = kNoWaitPoint;  ///< of wait_point_track
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;
  std::uint32_t function = 0;  ///< in FunctionIndex
  std::int32_t root = kNoPeer;
  std::int32_t block_count = 1;
  std::int32_t comm_rank = 0;
  std::int32_t world_rank = 0;
  bool is_second_group = false;  ///< of an intercommunicator
  bool is_root = false;
  bool is_pending = false;  ///< had not left it when the trace ended
};

/// All members' calls of one collective.
struct Collective {
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;
  std::uint32_t function = 0;
  bool is_whole = false;  ///< every member entered and left it, as the same function with the same
                          ///< root
  std::span<const CollectiveEnd> members;  ///< in no particular order
};

/// Takes what is matched. Calls about one track's calls and stops come in order, from one thread at
/// a time; the others from any of `task_count` tasks at once, each with its own number.
class MatchSink {
 public:
  virtual ~MatchSink() = default;
  virtual void begin(std::size_t task_count) = 0;
  /// Every call of a track, in order of entry and before what it says is matched. Stops are added
  /// from within.
  virtual void add_call(Track, const Call&) {}
  virtual void add_wait_point(Track track, const WaitPoint& wait_point) = 0;
  virtual void add_message(std::size_t task, const MessageEnd& send, const MessageEnd& receive) = 0;
  virtual void add_collective(std::size_t task, const Collective& collective) = 0;
  /// No task runs. Everything that it was given before belongs together no further.
  virtual void end_window() = 0;
};

/// Why one end of a message was not matched. In the order of preference.
enum class Unmatched : std::uint8_t {
  kNoTrace,    ///< the other rank's trace is not here
  kLost,       ///< records were lost, or recording was off, at one of the two
  kEnded,      ///< the other rank's trace ends without MPI_Finalize: killed, or cut short
  kNoPartner,  ///< both are whole: the program never sent or received it
  kCount
};
inline constexpr std::size_t kUnmatchedCount = static_cast<std::size_t>(Unmatched::kCount);

/// What a rank's trace says of time: sums over its tracks.
struct TrackTotals {
  std::uint64_t call_count = 0;
  std::uint64_t mpi_ns = 0;  ///< in calls that are not inside of others, but MPI_Init
  std::uint64_t first_ns = ~std::uint64_t{0};  ///< return of MPI_Init, else entry of the first call
  std::uint64_t last_ns = 0;                   ///< the latest return
};

struct Matching {
  std::uint64_t call_count = 0;
  std::uint64_t message_count = 0;     ///< matched
  std::uint64_t collective_count = 0;  ///< whole
  std::uint64_t unmatched_sends[kUnmatchedCount] = {};
  std::uint64_t unmatched_receives[kUnmatchedCount] = {};
  std::uint64_t partial_collectives[kUnmatchedCount] =
      {};                                ///< some member did not take part, or did not come back
  std::uint64_t mismatch_count = 0;      ///< collectives that members did not say alike
  std::uint64_t unsure_collectives = 0;  ///< calls on communicators that were made out of sight, of
                                         ///< which nothing is told
  std::uint64_t greater_than_sent = 0;  ///< messages that were received longer than they were sent:
                                        ///< a sign of wrong matches
  std::uint64_t violation_count = 0;    ///< messages received before they were sent, members of
                                        ///< collectives that left too early
  std::uint64_t worst_violation_ns = 0;  ///< by how much, at the most
  std::vector<Mismatch> mismatches;      ///< the first of each communicator
  std::vector<TrackTotals> tracks;       ///< by track
  RankStates states{0};             ///< also that a trace was cut short, which only its calls tell
  std::uint64_t max_in_flight = 0;  ///< ends that waited for their other end at once, at the most

  std::uint64_t unmatched() const;  ///< ends of messages and collectives
  /// What happens at late_ns cannot happen before what happens at early_ns.
  void check_order(std::uint64_t early_ns, std::uint64_t late_ns) {
    if (late_ns >= early_ns) return;
    ++violation_count;
    worst_violation_ns = std::max(worst_violation_ns, early_ns - late_ns);
  }
};

/// source, tables: outlive the call. jobs: threads to work with. Linear in calls; memory: what is
/// in flight, in windows of some 10⁴ calls. Throws what the source or the sink throws.
Matching match_run(const RecordSource& source, const MatchTables& tables, MatchSink& sink,
                   unsigned jobs);

}  // namespace megascope::analysis
