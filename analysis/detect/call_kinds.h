#pragma once

#include "core/record/event_key.h"
#include "core/record/source.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace megascope::detect {

/// One kind of call, and where it occurs in a rank's sequence of calls. Calls are of one kind if
/// function, communicator, peer, tag and size are equal. Completions of messages are of one kind if
/// the function is, because requests complete in any order. Positions count all calls given to
/// CallKinds::add().
struct CallKind {
  RegionId region = kNoRegion;
  EventKey key;                         ///< key of the first fact of the first call of this kind
  std::uint64_t count = 0;              ///< occurrences
  std::uint64_t first = 0;              ///< position of the first occurrence
  std::uint64_t last = 0;               ///< position of the last occurrence
  std::uint64_t shortest = UINT64_MAX;  ///< smallest distance of two consecutive occurrences, in
                                        ///< calls
  std::uint64_t longest = 0;  ///< largest distance of two consecutive occurrences, in calls

  /// Returns whether the kind occurs at least three times, and every distance is 0.5 to 1.6 times
  /// the mean distance.
  bool is_regular() const;
};

/// Collects the kinds of a rank's calls, and the sequence of kinds of its first 65,536 calls that
/// have one. Not thread-safe.
class CallKinds {
 public:
  /// Adds the rank's next call. Calls inside other calls (depth > 0) and calls without facts have
  /// no kind. O(1).
  void add(const Call& call);

  const std::vector<CallKind>& all() const { return kinds_; }
  /// A call in the sequence.
  struct Made {
    std::uint32_t kind = 0;     ///< index into all()
    std::uint64_t work_ns = 0;  ///< time outside of MPI since the previous call in the sequence
  };
  const std::vector<Made>& order() const { return order_; }
  /// Returns whether order() contains all calls that have a kind. False if the limit of 65,536
  /// calls was reached.
  bool is_order_whole() const { return order_.size() == noted_; }

 private:
  std::unordered_map<std::uint64_t, std::uint32_t> indices_;
  std::vector<CallKind> kinds_;
  std::vector<Made> order_;
  std::uint64_t noted_ = 0;  ///< calls that have a kind
  std::uint64_t index_ = 0;  ///< position of the next call, with or without a kind
  std::uint64_t last_leave_ns_ = 0;
  std::uint64_t work_ns_ = 0;
};

}  // namespace megascope::detect
