#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

namespace megascope::trace {

/// The chunks of a process that may be dropped, oldest first (policy flight). Any thread;
/// one thread at a time drops chunks.
class FlightChunks {
 public:
  struct Kept {
    std::uint64_t offset = 0;     ///< in the file
    std::size_t bytes = 0;        ///< in the file
    std::size_t saved_bytes = 0;  ///< by packing
    std::uint64_t calls = 0;
    std::atomic<std::uint64_t>* lost = nullptr;  ///< counts dropped calls of the chunk's location
  };

  /// Adds the newest chunk. kept.lost: must outlive the object. May throw std::bad_alloc and then
  /// changes nothing: the chunk is never dropped.
  void add(const Kept& kept) {
    const std::lock_guard lock(mutex_);
    chunks_.push_back(kept);
  }
  /// Copies the oldest chunk. Returns false if there is none.
  bool oldest(Kept& kept) const noexcept {
    const std::lock_guard lock(mutex_);
    if (chunks_.empty()) return false;
    kept = chunks_.front();
    return true;
  }
  /// Removes the oldest chunk, which was dropped.
  void remove_oldest() noexcept {
    const std::lock_guard lock(mutex_);
    chunks_.pop_front();
  }

 private:
  mutable std::mutex mutex_;
  std::deque<Kept> chunks_;
};

}  // namespace megascope::trace
