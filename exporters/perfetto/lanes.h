#pragma once

#include "core/base/id_map.h"

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

namespace megascope::perfetto {

/// Assigns each nonblocking operation or range in flight to the lowest free lane. A lane becomes a
/// track. Operations and ranges may overlap, but slices of one track must nest. At most kMaxLanes
/// operations or ranges have a lane at a time; further ones get none. Number: type of the number
/// that identifies an operation or range; 0 is not valid.
template <class Number>
class Lanes {
 public:
  static constexpr std::uint32_t kMaxLanes = 1024;
  static constexpr std::uint32_t kNoLane = 0xFFFFFFFF;

  /// Returns the lane; kNoLane if the number is 0 or in flight already, or if all lanes are in use.
  /// is_new: set to true if the lane is used for the first time.
  std::uint32_t start(Number number, bool& is_new) {
    is_new = false;
    if (number == 0) return kNoLane;
    Entry& entry = open_[number];
    if (entry.is_taken) return kNoLane;
    is_new = free_.empty();
    if (is_new && used_count_ == kMaxLanes) {
      Entry unused;
      open_.take(number, unused);
      is_new = false;
      return kNoLane;
    }
    entry = {is_new ? used_count_++ : free_.top(), true};
    if (!is_new) free_.pop();
    return entry.lane;
  }

  /// Frees a lane and returns it; kNoLane if the number is not in flight.
  std::uint32_t complete(Number number) {
    Entry entry;
    if (!open_.take(number, entry)) return kNoLane;
    free_.push(entry.lane);
    return entry.lane;
  }

 private:
  struct Entry {
    std::uint32_t lane = kNoLane;
    bool is_taken = false;
  };

  IdMap<Number, Entry> open_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::uint32_t used_count_ = 0;
};

using OperationLanes = Lanes<RequestId>;
using RangeLanes = Lanes<std::uint64_t>;

}  // namespace megascope::perfetto
