#pragma once

#include "core/base/hash.h"
#include "core/record/event_view.h"
#include "core/record/world_ranks.h"

#include <cstdint>
#include <vector>

namespace megascope {

/// Maps messages of one process to their series: a hash of (global name of the communicator, world
/// rank of the sender, of the receiver, tag), equal at both ends. Messages of one series do not
/// overtake each other (MPI-4.1 §3.5): the n-th sent is the n-th received. Any thread.
class MessageSeries {
 public:
  explicit MessageSeries(const ProcessDefinitions& process)
      : world_rank_(process.info.world_rank), world_ranks_(process) {
    for (const CommDefinition& comm : process.comms) comm_hashes_.push_back(mix(comm.global_name));
  }

  /// Communicator, peer and tag of a message.
  struct Envelope {
    CommId comm = kNoComm;
    std::int32_t peer = kNoPeer;
    std::int32_t tag = 0;

    Envelope() = default;
    Envelope(events::Message message)
        : comm(message.comm()), peer(message.peer()), tag(message.tag()) {}
    bool operator==(const Envelope&) const = default;
  };

  /// Return the series of a message that the process sends or receives; 0 if it is unknown.
  std::uint64_t sent(const Envelope& message) const {
    return of(message, world_rank_, partner(message));
  }
  std::uint64_t received(const Envelope& message) const {
    return of(message, partner(message), world_rank_);
  }
  /// Returns the world rank of the other end; negative if there is none.
  std::int32_t partner(const Envelope& message) const {
    return world_ranks_.of(message.comm, message.peer);
  }

  /// Returns the identifier of message `number` (from 0) of a series. Two messages share an
  /// identifier with negligible probability. Never 0.
  static std::uint64_t name(std::uint64_t series, std::uint64_t number) {
    return not_zero(combined(series, number));
  }

 private:
  std::uint64_t of(const Envelope& message, std::int32_t sender, std::int32_t receiver) const {
    if (sender < 0 || receiver < 0) return 0;
    const std::uint64_t ends = std::uint64_t{static_cast<std::uint32_t>(sender)} << 32 |
                               static_cast<std::uint32_t>(receiver);
    return not_zero(combined(combined(comm_hashes_[message.comm], ends),
                             static_cast<std::uint32_t>(message.tag)));
  }

  std::int32_t world_rank_;
  WorldRanks world_ranks_;
  std::vector<std::uint64_t> comm_hashes_;
};

}  // namespace megascope
