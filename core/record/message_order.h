#pragma once

#include "core/record/source.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// Names the message of every send and receive of one process, so that both ends get the same name
/// without talking: a hash of (communicator's global name, world rank of the sender, of the
/// receiver, tag, how many such messages were posted before). The n-th send of such a series
/// matches the n-th receive posted among those that came to be of the series: MPI's non-overtaking
/// rule (MPI-4.1 §3.5). A wildcard receive belongs to the series of the message it got; a matched
/// probe is the posting of its receive.
///
/// A receive that never completed counts where it was posted for one source and tag; where it had
/// wildcards it is left out. What was cancelled is left out. Two threads that post to one series at
/// the same time have no order in MPI: here it is the one of entering the calls. A process whose
/// first calls were given up (policy flight), or whose recording was off for some messages, names
/// nothing.
///
/// Made by one pass over all calls of the process; a new one names nothing. Memory: 8 bytes a
/// message, twice that while it is made.
class MessageOrder {
 public:
  /// world_rank: one of the source's.
  static MessageOrder of(const RecordSource& source, std::int32_t world_rank);

  /// Names of the location's message facts (`is_message`), in the order in which its calls tell
  /// them; 0: the message is not known (the other end may be). Unlike by chance, two messages never
  /// share a name.
  std::span<const std::uint64_t> flow_ids(LocationId location) const {
    return location < flow_ids_.size() ? std::span<const std::uint64_t>(flow_ids_[location])
                                       : std::span<const std::uint64_t>();
  }

  /// The facts that have an entry in flow_ids: a send where it is started, a receive where it
  /// completes.
  static bool is_message(FactKind kind) {
    return kind == FactKind::kSend || kind == FactKind::kSendRequest || kind == FactKind::kRecv ||
           kind == FactKind::kRecvComplete;
  }

 private:
  friend class MessageScan;
  std::vector<std::vector<std::uint64_t>> flow_ids_;  ///< by location
};

/// Equal in all members of a collective operation, and by chance only in another. Never 0.
std::uint64_t collective_flow_id(std::uint64_t comm_global_name, std::uint32_t sequence);

}  // namespace megascope
