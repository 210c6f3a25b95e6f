#pragma once

#include "core/record/ids.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <new>
#include <optional>
#include <sys/mman.h>

namespace megascope::capture {

/// The latest value of each counter and the step in which it was set. Any thread writes, without
/// lock or allocation; one thread reads. Never destroyed.
/// Races are benign: a reader concurrent with a writer may get the new step with the previous
/// value, and gets the right pair the next time. If two threads set one counter at once, step and
/// value may come from different threads.
class CounterSlots {
 public:
  /// Counters with an id of kMax or more are ignored.
  static constexpr std::uint32_t kMax = 65'536;

  struct Reading {
    std::int64_t step = 0;
    double value = 0.0;
  };

  /// Sets a counter. step >= -1. Lock-free.
  void set(CounterId counter, std::int64_t step, double value) noexcept {
    if (counter >= kMax || slots_ == nullptr) return;
    Slot& slot = slots_[counter];
    slot.stamp.store(static_cast<std::uint64_t>(step) + 2, std::memory_order_relaxed);
    slot.value.store(value, std::memory_order_release);
    std::uint32_t end = end_.load(std::memory_order_relaxed);
    while (counter >= end &&
           !end_.compare_exchange_weak(end, counter + 1, std::memory_order_relaxed)) {
    }
  }
  /// Returns a number that is greater than each id that was set; 0 if none was set.
  std::uint32_t end() const noexcept { return end_.load(std::memory_order_relaxed); }
  /// Returns the latest value of a counter and its step. Returns nullopt if both are the same as in
  /// the previous take() of this counter. counter: less than end(). One thread.
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
  /// Zeroed, demand-paged memory. Returns nullptr if the mapping fails; values are then ignored.
  static Slot* make_slots() noexcept {
    void* const memory = mmap(nullptr, kMax * sizeof(Slot), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Slot*>(memory);
  }

  Slot* slots_ = make_slots();
  std::atomic<std::uint32_t> end_{0};
};

}  // namespace megascope::capture
