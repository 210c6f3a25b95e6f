#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/hang/message_counts.h"
#include "analysis/hang/process_state.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// One thing that a thread waits for: an action of another rank, in most cases.
struct Want {
  enum class Kind : std::uint8_t {
    kReceive,
    kSend,
    kCollective,
    kPost,      ///< MPI_Win_post by `partner`
    kComplete,  ///< MPI_Win_complete by `partner`
    kLock,    ///< the lock of the window at `target`, which `partner` holds. partner is kNoPeer if
              ///< the holder is unknown
    kTarget,  ///< an operation on the window at `target`, in which `target` may have to take part
    kWorld,   ///< an action of processes of another world
    kTransfer,  ///< an operation on a file or window. It is not known whether it needs a call of
                ///< another rank
  };
  Kind kind = Kind::kReceive;
  CommTable::Index comm = CommTable::kNone;  ///< the communicator, window or file
  std::int32_t peer = kNoPeer;  ///< argument of the call: rank in the communicator, or kAnySource;
                                ///< the root of a collective
  std::int32_t partner = kNoPeer;  ///< world rank of the peer or root; kAnySource for a wildcard;
                                   ///< kNoPeer if there is no peer or it is unknown
  std::int32_t target = kNoPeer;   ///< kLock, kTarget: world rank of the target; kNoPeer if all
                                   ///< ranks are targets
  bool is_exclusive = false;       ///< kLock: the holder's lock is exclusive
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;         ///< size according to the arguments
  std::uint32_t sequence = 0;      ///< number of the collective
  RegionId region = kNoRegion;     ///< function of the call that started it
  RequestId request = kNoRequest;  ///< kNoRequest: the thread is in the blocking call itself
  LocationId location = 0;         ///< thread that started it
  std::uint64_t since_ns = 0;
  std::uint32_t position = 0;  ///< receives: number of open receives with equal arguments that were
                               ///< posted earlier
  bool may_have_left = false;  ///< true for sends that MPI may complete without a receiver, because
                               ///< they are small or buffered, and for locks whose holder is
                               ///< uncertain
  bool is_met = false;  ///< true: the other rank has made its call: it has sent the message, posted
                        ///< the receive or synchronised the window
  bool is_known = true;  ///< false: is_met is unknown, because the other rank's trace is missing or
                         ///< incomplete
};

/// A thread that is in a call that may wait, or that polls.
struct Waiting {
  std::int32_t world_rank = 0;
  LocationId location = 0;
  bool is_polling = false;
  bool needs_all = true;  ///< true: the thread needs all of `wants`. false: one of them is enough,
                          ///< as far as the trace shows
  std::uint32_t asked = 0;  ///< number of requests passed to the call; 0: none or unknown
  std::vector<Want> wants;  ///< empty: unknown
};

/// The processes of a run, ascending by world rank.
struct Processes {
  const RecordSource* source = nullptr;
  std::vector<ProcessState> states;
  std::vector<FunctionTable> functions;  ///< by index in `states`

  /// Returns nullptr if the rank has no trace.
  const ProcessState* find(std::int32_t world_rank) const;
  /// The rank must have a trace.
  const FunctionTable::Function& function(std::int32_t world_rank, RegionId region) const;
};

/// Returns whether the thread waits for a message, that is, in a send or a receive. MessageCounts
/// applies to such wants.
inline bool is_message(const Want& want) {
  return want.kind == Want::Kind::kReceive || want.kind == Want::Kind::kSend;
}

/// Appends to `waiting` what a thread in a one-sided call waits for: posts, completes, locks,
/// targets. Appends nothing for other calls.
void want_one_sided(const Processes& processes, const CommTable& comms, const ProcessState& state,
                    const ThreadState& thread, Waiting& waiting);

/// Returns the threads of all processes that are in a call that may wait, or that poll, with what
/// they wait for. Adds the queries to `counts` that judge_messages() needs. Processes that have
/// entered MPI_Finalize are ignored.
std::vector<Waiting> collect_waiting(const Processes& processes, const CommTable& comms,
                                     MessageCounts& counts);

/// Sets is_met and is_known of all sends and receives. Call after counts.count().
void judge_messages(const Processes& processes, const CommTable& comms, const MessageCounts& counts,
                    std::vector<Waiting>& waiting);

}  // namespace megascope::analysis
