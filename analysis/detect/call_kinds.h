#pragma once

#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace megascope::detect {

/// Of messages, in any order they end: nothing but the function tells such calls from each
/// other.
inline bool is_completion(const Fact& fact) {
  return fact.kind == FactKind::kSendComplete || fact.kind == FactKind::kRecvComplete;
}

/// Occurrences of one kind of call: the same function with the same communicator, peer, tag and
/// size.
struct CallKind {
  RegionId region = kNoRegion;
  Fact fact;
  std::uint64_t count = 0;
  std::uint64_t first = 0;  ///< index of a call
  std::uint64_t last = 0;
  std::uint64_t shortest = UINT64_MAX;  ///< distance of two in a row, in calls
  std::uint64_t longest = 0;

  /// Comes back at about even distances, three times or more.
  bool is_regular() const;
};

/// The kinds of a rank's calls, and the order of the first of them.
class CallKinds {
 public:
  /// Only calls that are not inside of others, and that say what they do, count.
  void add(const Call& call);

  const std::vector<CallKind>& all() const { return kinds_; }
  /// One of the first calls.
  struct Made {
    std::uint32_t kind = 0;
    std::uint64_t work_ns = 0;  ///< outside of MPI since the one before it
  };
  const std::vector<Made>& order() const { return order_; }
  bool is_order_whole() const { return order_.size() == noted_; }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> indices_;
  std::vector<CallKind> kinds_;
  std::vector<Made> order_;
  std::uint64_t noted_ = 0;  ///< calls that have a kind
  std::uint64_t index_ = 0;  ///< of the next call, of any kind
  std::uint64_t last_leave_ns_ = 0;
  std::uint64_t work_ns_ = 0;
};

}  // namespace megascope::detect
