#pragma once

#include "core/record/event_view.h"
#include "core/record/source.h"

#include <cstdint>
#include <span>
#include <vector>

namespace megascope {

/// Gives every message of one process an identifier that sender and receiver compute independently
/// from the message's series and its number in the series (FlowIds). A series consists of the
/// messages with one communicator (global name), sender, receiver (world ranks) and tag. By MPI's
/// non-overtaking rule (MPI-4.1 §3.5) the n-th send of a series matches the n-th receive that was
/// posted for it. A wildcard receive belongs to the series of the message that it received. A
/// message received by a matched probe counts as posted at the probe.
///
/// - A receive that never completed is counted if it was posted for one source and tag. If it has
/// wildcards, it is omitted.
/// - Cancelled operations are omitted.
/// - MPI does not order two threads that post to one series at the same time; the order of entry
///   into the calls is used.
/// - A process whose first calls were dropped (policy flight), or whose recording was off for some
///   messages, has no identifiers.
///
/// Made by one pass over all calls of the process; a default-constructed object has no identifiers.
/// Memory: 8 bytes for each message, twice that during the pass.
class MessageOrder {
 public:
  /// Computes the identifiers. world_rank: one of source.world_ranks().
  static MessageOrder of(const RecordSource& source, std::int32_t world_rank);

  /// Returns the identifiers of the location's message facts (is_message), in order of its calls.
  /// 0: the identifier cannot be computed from this process's trace. Two messages share an
  /// identifier with negligible probability.
  std::span<const std::uint64_t> flow_ids(LocationId location) const {
    return location < flow_ids_.size() ? std::span<const std::uint64_t>(flow_ids_[location])
                                       : std::span<const std::uint64_t>();
  }

  /// Returns whether the fact has an entry in flow_ids(): sends where they start, receives where
  /// they complete.
  static bool is_message(const Fact& fact) {
    return events::is_any<events::Send, events::Receive>(fact);
  }

 private:
  friend class MessageScan;
  std::vector<std::vector<std::uint64_t>> flow_ids_;  ///< by location
};

/// Returns the identifier of a collective operation: equal in all members, different for other
/// operations with high probability. Never 0.
std::uint64_t collective_flow_id(std::uint64_t comm_global_name, std::uint32_t sequence);

}  // namespace megascope
