#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/hang/message_counts.h"
#include "analysis/hang/process_state.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// Something that a thread waits for.
struct Want {
  enum class Kind : std::uint8_t {
    kReceive,
    kSend,
    kCollective,
    kPost,      ///< MPI_Win_post by `partner`
    kComplete,  ///< MPI_Win_complete by `partner`
    kLock,  ///< of a window's part at `target`; `partner` is who holds it, kNoPeer: no rank is seen
            ///< to
    kTarget,    ///< the window's part at `target`: it may have to take part in an operation
    kWorld,     ///< processes of another world
    kTransfer,  ///< an operation on a file or window that needs no rank's call, as far as is known
  };
  Kind kind = Kind::kReceive;
  CommTable::Index comm = CommTable::kNone;  ///< the communicator, window or file
  std::int32_t peer = kNoPeer;  ///< as the call names it: rank in the communicator, kAnySource; the
                                ///< root of a collective
  std::int32_t partner = kNoPeer;  ///< the peer's or root's world rank; kAnySource; kNoPeer: none,
                                   ///< or not known
  std::int32_t target = kNoPeer;   ///< of kLock and kTarget: world rank, kNoPeer for all
  bool is_exclusive = false;       ///< of kLock: as the holder has it
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;         ///< as posted
  std::uint32_t sequence = 0;      ///< of a collective
  RegionId region = kNoRegion;     ///< of the call that posted it
  RequestId request = kNoRequest;  ///< kNoRequest: the thread is in the call itself
  LocationId location = 0;         ///< of the thread that posted it
  std::uint64_t since_ns = 0;
  std::uint32_t position = 0;  ///< of a receive: how many alike were posted before and are open
  bool may_have_left = false;  ///< a send that MPI may have completed although no rank received it:
                               ///< small, buffered
  bool is_met = false;   ///< the other side has done its part: the message was sent, the receive is
                         ///< posted
  bool is_known = true;  ///< false: whether the other side has done its part is not known: no
                         ///< trace, or not all of it
};

/// One thread that is in a call which may wait, or polls.
struct Waiting {
  std::int32_t world_rank = 0;
  LocationId location = 0;
  bool is_polling = false;
  bool needs_all = true;    ///< of `wants`; else any of them, as far as the trace tells
  std::uint32_t asked = 0;  ///< how many requests the call is over; 0: it is over none
  std::vector<Want> wants;  ///< empty: what it waits for is not known
};

/// The processes of a run, ascending by world rank.
struct Processes {
  const RecordSource* source = nullptr;
  std::vector<ProcessState> states;
  std::vector<FunctionTable> functions;  ///< of each

  /// nullptr: no trace.
  const ProcessState* find(std::int32_t world_rank) const;
  const FunctionTable::Function& function(std::int32_t world_rank, RegionId region) const;
};

/// Is it about a message, of which MessageCounts can tell?
inline bool is_message(const Want& want) {
  return want.kind == Want::Kind::kReceive || want.kind == Want::Kind::kSend;
}

/// What a thread that is in a call on a window waits for: posts, completes, locks. Nothing where it
/// is in another call.
void want_one_sided(const Processes& processes, const CommTable& comms, const ProcessState& state,
                    const ThreadState& thread, Waiting& waiting);

/// The threads of all processes that are in a call or poll, with what they want. Asks `counts` what
/// it must know of messages.
std::vector<Waiting> collect_waiting(const Processes& processes, const CommTable& comms,
                                     MessageCounts& counts);

/// Sets is_met and is_known of all sends and receives, from `counts` when it has counted.
void judge_messages(const Processes& processes, const CommTable& comms, const MessageCounts& counts,
                    std::vector<Waiting>& waiting);

}  // namespace megascope::analysis
