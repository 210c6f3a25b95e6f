#pragma once

#include "core/record/ids.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <sys/mman.h>

namespace megascope::tensors {

/// The last value of each counter and the step in which it was set: written by any thread without
/// lock or allocation, read by one. Who reads while it is written may find the new step with the
/// value before, and the next time the right one. Of two threads that set one counter at once the
/// step may be one's and the value the other's. Never destroyed.
class CounterSlots {
 public:
  static constexpr std::uint32_t kMost = 65'536;  ///< counters; those beyond are not held

  struct Reading {
    std::int64_t step = 0;
    double value = 0.0;
  };

  /// step: at least -1.
  void set(CounterId counter, std::int64_t step, double value) noexcept {
    if (counter >= kMost || slots_ == nullptr) return;
    Slot& slot = slots_[counter];
    slot.stamp.store(static_cast<std::uint64_t>(step) + 2, std::memory_order_relaxed);
    slot.value.store(value, std::memory_order_release);
    std::uint32_t end = end_.load(std::memory_order_relaxed);
    while (counter >= end &&
           !end_.compare_exchange_weak(end, counter + 1, std::memory_order_relaxed)) {
    }
  }
  /// Those below are set, or may be.
  std::uint32_t end() const noexcept { return end_.load(std::memory_order_relaxed); }
  /// What it was set to since this was asked last; nothing: it was not, or to the same value in the
  /// same step. One thread.
  std::optional<Reading> take(CounterId counter) noexcept {
    Slot& slot = slots_[counter];
    const double value = slot.value.load(std::memory_order_acquire);
    const std::uint64_t stamp = slot.stamp.load(std::memory_order_relaxed);
    if (stamp == slot.taken_stamp &&
        std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(slot.taken_value))
      return std::nullopt;
    slot.taken_stamp = stamp;
    slot.taken_value = value;
    return Reading{static_cast<std::int64_t>(stamp - 2), value};
  }

 private:
  struct Slot {
    std::atomic<double> value;
    std::atomic<std::uint64_t> stamp;  ///< step + 2; 0: never set
    double taken_value;
    std::uint64_t taken_stamp;
  };
  static_assert(std::atomic<double>::is_always_lock_free);
  /// Zeros, of which only pages are there that are touched; nullptr: there is no memory, and
  /// nothing is held.
  static Slot* make_slots() noexcept {
    void* const memory = mmap(nullptr, kMost * sizeof(Slot), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Slot*>(memory);
  }

  Slot* slots_ = make_slots();
  std::atomic<std::uint32_t> end_{0};
};

}  // namespace megascope::tensors
