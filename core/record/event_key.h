#pragma once

#include "core/record/call.h"

#include <cstdint>

namespace megascope {

/// A key of a fact, made of its kind, communicator, peer, tag and size. Calls that a program
/// repeats with equal arguments have facts with equal keys. A default-constructed key stands for no
/// fact.
class EventKey {
 public:
  EventKey() = default;
  explicit EventKey(const Fact& fact)
      : kind_(fact.kind), comm_(fact.comm), peer_(fact.peer), tag_(fact.tag), bytes_(fact.bytes) {}

  bool operator==(const EventKey&) const = default;

  /// Returns whether the fact is the completion of a nonblocking send or receive.
  bool is_message_completion() const {
    return kind_ == FactKind::kSendComplete || kind_ == FactKind::kRecvComplete;
  }
  bool is_blocking_collective() const { return kind_ == FactKind::kCollective; }
  CommId comm() const { return comm_; }
  /// Returns the size of the message, or the bytes sent in the collective.
  std::uint64_t bytes() const { return bytes_; }

  /// Returns a hash of the key and of `seed`.
  std::uint64_t hash(std::uint64_t seed) const {
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(kind_), static_cast<std::uint64_t>(comm_),
          static_cast<std::uint64_t>(peer_), static_cast<std::uint64_t>(tag_), bytes_}) {
      seed = (seed ^ part) * 0x9E3779B97F4A7C15U;
      seed ^= seed >> 29;
    }
    return seed;
  }

 private:
  FactKind kind_ = FactKind::kNone;
  CommId comm_ = kNoComm;
  std::int32_t peer_ = kNoPeer;
  std::int32_t tag_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace megascope
