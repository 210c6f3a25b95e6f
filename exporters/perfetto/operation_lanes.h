#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "core/record/id_map.h"

namespace megascope::perfetto {

/// Gives each nonblocking operation that is in flight a lane of its own, the lowest that is free: slices of one track
/// must nest, and operations overlap as they like. Operations beyond kMaxLanes at once get none.
class OperationLanes {
 public:
  static constexpr std::uint32_t kMaxLanes = 1024;
  static constexpr std::uint32_t kNoLane = 0xFFFFFFFF;

  /// is_new: the lane was never used before. A request that is in flight already keeps its lane: kNoLane.
  std::uint32_t start(RequestId request, bool& is_new) {
    is_new = false;
    if (request == kNoRequest) return kNoLane;
    Entry& entry = open_[request];
    if (entry.is_taken) return kNoLane;
    is_new = free_.empty();
    if (is_new && used_count_ == kMaxLanes) {
      Entry unused;
      open_.take(request, unused);
      is_new = false;
      return kNoLane;
    }
    entry = {is_new ? used_count_++ : free_.top(), true};
    if (!is_new) free_.pop();
    return entry.lane;
  }

  /// The lane that becomes free; kNoLane when the request has none.
  std::uint32_t complete(RequestId request) {
    Entry entry;
    if (!open_.take(request, entry)) return kNoLane;
    free_.push(entry.lane);
    return entry.lane;
  }

 private:
  struct Entry {
    std::uint32_t lane = kNoLane;
    bool is_taken = false;
  };

  RequestMap<Entry> open_;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> free_;
  std::uint32_t used_count_ = 0;
};

}  // namespace megascope::perfetto
