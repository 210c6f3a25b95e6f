#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::otf2 {

/// What was started under a request, until it completes. Constant time, no allocation while few are
/// open: open addressing, at most half full.
class RequestTable {
 public:
  struct Entry {
    RequestId request = kNoRequest;
    FactKind started = FactKind::kNone;
    CollectiveOp operation = CollectiveOp::kNone;
  };

  RequestTable() : slots_(kFirstSlots) {}

  /// A request that is there already is replaced: its completion was not recorded.
  void start(const Entry& entry) {
    if (entry.request == kNoRequest) return;
    Entry& slot = slots_[find(entry.request)];
    if (slot.request == kNoRequest && ++count_ * 2 > slots_.size()) {
      slot = entry;
      grow();
      return;
    }
    slot = entry;
  }

  /// Removes the request; `started` is kNone when its start is not known.
  Entry complete(RequestId request) {
    const std::size_t index = find(request);
    const Entry entry = slots_[index];
    if (entry.request != kNoRequest) erase(index);
    return entry;
  }

  /// Requests started and not completed.
  std::size_t open_count() const { return count_; }

 private:
  static constexpr std::size_t kFirstSlots = 64;

  std::size_t home(RequestId request) const {
    return (request * std::size_t{0x9E3779B1u} >> 7) & (slots_.size() - 1);
  }
  /// Where the request is, or would be.
  std::size_t find(RequestId request) const {
    std::size_t index = home(request);
    while (slots_[index].request != kNoRequest && slots_[index].request != request) {
      index = (index + 1) & (slots_.size() - 1);
    }
    return index;
  }
  /// Closes the gap, so that later entries of the same run are still found.
  void erase(std::size_t gap) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t index = (gap + 1) & mask; slots_[index].request != kNoRequest;
         index = (index + 1) & mask) {
      const std::size_t distance_from_home = (index - home(slots_[index].request)) & mask;
      if (distance_from_home < ((index - gap) & mask)) continue;
      slots_[gap] = slots_[index];
      gap = index;
    }
    slots_[gap] = {};
    --count_;
  }
  void grow() {
    std::vector<Entry> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Entry& entry : old) {
      if (entry.request != kNoRequest) slots_[find(entry.request)] = entry;
    }
  }

  std::vector<Entry> slots_;
  std::size_t count_ = 0;
};

}  // namespace megascope::otf2
