#pragma once

#include "core/record/message_series.h"

#include <cstdint>
#include <vector>

namespace megascope {

/// Identifiers of messages and collectives for timelines. All processes that take part compute the
/// same identifier independently. Decision: docs/decisions/0017-short-flow-ids.md. Any thread may
/// read. 0: no identifier.
///
/// An identifier is *short* (is_short) if communicator, ranks, tag and number fit into it. Short
/// identifiers are unique. The other ones are hashes with the highest bit set; two of them are
/// equal with negligible probability.
///
/// Short identifiers contain kCommBits of the hash of a communicator. If that is not enough to
/// distinguish two communicators that have both ends of the message as members (for collectives:
/// all ranks), hashes are used. Both ends decide the same, because both are members.
class FlowIds {
 public:
  /// process: must outlive this object.
  explicit FlowIds(const ProcessDefinitions& process);

  /// Return the series of a message that the process sends or receives; 0 if it is unknown.
  std::uint64_t sent(const MessageSeries::Envelope& message) const {
    const std::int32_t receiver = series_.partner(message);
    const std::uint64_t brief = short_series(message, receiver, my_rank_, receiver);
    return brief != 0 ? brief : hashed(series_.sent(message));
  }
  std::uint64_t received(const MessageSeries::Envelope& message) const {
    const std::int32_t sender = series_.partner(message);
    const std::uint64_t brief = short_series(message, sender, sender, my_rank_);
    return brief != 0 ? brief : hashed(series_.received(message));
  }
  /// Returns the identifier of message `number` (from 0) of a series. series: not 0.
  static std::uint64_t of_message(std::uint64_t series, std::uint64_t number);

  /// Returns the identifier of a collective operation. comm: defined, with several members.
  std::uint64_t of_collective(CommId comm, std::uint32_t sequence) const;

  /// Short identifiers have at most this number of bits: 7 bytes as a varint.
  static constexpr std::uint32_t kShortBits = 49;
  /// Bits that distinguish communicators other than MPI_COMM_WORLD.
  static constexpr std::uint32_t kCommBits = 7;
  static constexpr bool is_short(std::uint64_t id) { return id >> kShortBits == 0; }

 private:
  static constexpr std::uint64_t kHashed = std::uint64_t{1} << 63;

  struct Comm {
    std::uint64_t code = 0;     ///< with its prefix
    std::uint32_t bits = 0;     ///< of the code; 0: there is none
    bool is_whole = false;      ///< all ranks are members, and the code distinguishes it among such
    std::vector<CommId> alike;  ///< other communicators with this code
  };

  static std::uint64_t hashed(std::uint64_t hash) { return hash == 0 ? 0 : hash | kHashed; }
  std::uint64_t short_series(const MessageSeries::Envelope& message, std::int32_t partner,
                             std::int32_t sender, std::int32_t receiver) const;
  void find_alike();
  bool is_member(CommId comm, std::int32_t world_rank) const;

  const ProcessDefinitions& process_;
  MessageSeries series_;
  std::int32_t my_rank_;
  std::uint32_t rank_bits_;
  std::vector<Comm> comms_;  ///< by CommId
};

}  // namespace megascope
