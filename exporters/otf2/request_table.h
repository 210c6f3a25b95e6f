#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::otf2 {

/// The operations started under requests, until they complete. Constant time; open addressing, at
/// most half full; allocates only when it grows. One thread.
class RequestTable {
 public:
  enum class Started : std::uint8_t { kNone, kSend, kReceive, kCollective };
  struct Entry {
    RequestId request = kNoRequest;
    Started started = Started::kNone;
    CollectiveOp operation = CollectiveOp::kNone;
  };

  RequestTable() : slots_(kFirstSlots) {}

  /// Adds an operation. If there is an entry with the same request, it is replaced, because the
  /// completion of its operation was not recorded.
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

  /// Removes the entry of a request and returns it. Its `started` is kNone if the request is
  /// unknown.
  Entry complete(RequestId request) {
    const std::size_t index = find(request);
    const Entry entry = slots_[index];
    if (entry.request != kNoRequest) erase(index);
    return entry;
  }

  /// Returns the number of operations in flight.
  std::size_t open_count() const { return count_; }

 private:
  static constexpr std::size_t kFirstSlots = 64;

  std::size_t home(RequestId request) const {
    return (request * std::size_t{0x9E3779B1u} >> 7) & (slots_.size() - 1);
  }
  /// Returns the index of the slot with the request, or of the free slot where it can be added.
  std::size_t find(RequestId request) const {
    std::size_t index = home(request);
    while (slots_[index].request != kNoRequest && slots_[index].request != request) {
      index = (index + 1) & (slots_.size() - 1);
    }
    return index;
  }
  /// Closes the gap, so that later entries of the same probe sequence are still found.
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
