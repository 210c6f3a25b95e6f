#pragma once

#include "core/base/clock.h"
#include "core/base/thread_cpu.h"
#include "core/buffer/event_buffer.h"
#include "core/record/hook_words.h"

#include <atomic>
#include <cstdint>

/// One thread's part of what a program tells: the hot path of hooks.h. Our own code here is
/// noexcept, allocates nothing and makes no system call, except for a thread's first hook and a new
/// chunk.
namespace megascope::hooks {

/// Bits of a thread's gate: what is recorded.
inline constexpr std::uint8_t kRegions = 1;  ///< regions, steps, counters, marks
inline constexpr std::uint8_t kTensors = 2;  ///< tensors, as records
inline constexpr std::uint8_t kShows = 4;    ///< tensors are shown to the sink
inline constexpr std::uint8_t
    kSteps = 8;  ///< steps are followed: always while there is a recording

inline constexpr std::uint8_t kDetails = 32;  ///< numbers and colors that ranges are given

inline constexpr std::uint8_t kCpu = 64;  ///< CPU time is read (cpu_readings.h)
inline constexpr std::uint8_t
    kPlain = 16;  ///< of a thread only: regions are recorded, and the clock is the TSC

/// What a thread has read of its CPU time.
struct CpuState {
  ThreadCpuReader reader;
  ThreadCpu last;  ///< valid where has_last
  bool has_last;
  std::uint64_t boundary_ticks;  ///< of the last reading at a step's boundary
  std::uint64_t cost_ticks;      ///< of one reading
};

/// Lies in memory that a forked child sees zeroed: there its gate is closed.
struct HookThread {
  static constexpr std::uint32_t kMostOpen = 256;

  std::uint8_t gate;
  bool use_tsc;
  std::uint32_t depth;   ///< regions that are open
  std::uint32_t beyond;  ///< and further ones, for which there was no room
  bool is_outside;       ///< of what is kept
  bool is_held;          ///< stays as it is, in what is kept or outside of it (KeptWhile)
  EventBuffer* buffer;
  RegionId open[kMostOpen];  ///< outermost first
  std::int64_t step;         ///< that the thread began last
  CpuState cpu;
};

/// The thread's gate; others may close it.
[[gnu::always_inline]] inline std::uint8_t gate_of(HookThread& thread) noexcept {
  return std::atomic_ref(thread.gate).load(std::memory_order_relaxed);
}

/// The calling thread's; of a thread without one, a shared one whose gate is closed.
extern constinit thread_local HookThread* t_hooks;

/// What is recorded of a thread that has not told anything yet. kMayBegin: nothing is recorded, and
/// a hook may change that.
inline constexpr std::uint8_t kMayBegin = 0x80;
extern constinit std::atomic<std::uint8_t> g_gate;

/// Is this a child forked by the process that records? What a recorder points to is not mapped
/// there.
bool is_forked_child() noexcept;

/// Records of all threads are kept from now on, or not: each follows at its next hook, the calling
/// one at once.
void keep(bool is_kept) noexcept;

/// The calling thread's, with its gate as g_gate says, made at its first hook; nullptr: nothing of
/// the `bits` is recorded.
HookThread* begin_thread(std::uint8_t bits) noexcept;
/// The calling thread's, if its gate has one of the bits; nullptr: what is told is passed over.
[[gnu::always_inline]] inline HookThread* thread_for(std::uint8_t bits) noexcept {
  HookThread* thread = t_hooks;
  if ((gate_of(*thread) & bits) != 0) [[likely]]
    return thread;
  if ((g_gate.load(std::memory_order_relaxed) & (bits | kMayBegin)) == 0) [[likely]]
    return nullptr;
  return begin_thread(bits);
}

/// Room for `words` words at the time `ticks`; false: there is none, and the loss is counted.
bool make_room(EventBuffer& buffer, std::size_t words, std::uint64_t ticks) noexcept;
[[gnu::always_inline]] inline bool has_room(EventBuffer& buffer, std::size_t words,
                                            std::uint64_t ticks) noexcept {
  const bool fits = buffer.has_room(words) && encoding::time_fits(ticks, buffer.base_ticks());
  return fits || make_room(buffer, words, ticks);
}

/// Writes one word with a time.
[[gnu::always_inline]] inline void put(HookThread& thread, std::uint64_t ticks,
                                       unsigned what) noexcept {
  EventBuffer& buffer = *thread.buffer;
  if (!has_room(buffer, 1, ticks)) [[unlikely]]
    return;
  encoding::Word* to = buffer.cursor();
  *to = hook_words::timed(ticks, buffer.base_ticks(), what);
  buffer.commit(to + 1);
}

/// Notes the region as open; false: there are too many.
[[gnu::always_inline]] inline bool push(HookThread& thread, RegionId region) noexcept {
  if (thread.depth == HookThread::kMostOpen) [[unlikely]] {
    ++thread.beyond;
    return false;
  }
  thread.open[thread.depth++] = region;
  return true;
}

/// The same as put() of a thread whose gate is kPlain, in as few instructions.
void put_slowly(HookThread& thread, std::uint64_t ticks, unsigned what) noexcept;
[[gnu::always_inline]] inline void put_plainly(HookThread& thread, unsigned what) noexcept {
  const std::uint64_t ticks = clock::tsc_ticks();
  EventBuffer& buffer = *thread.buffer;
  if (!buffer.has_room(1) || !encoding::time_fits(ticks, buffer.base_ticks())) [[unlikely]]
    return put_slowly(thread, ticks, what);
  encoding::Word* to = buffer.cursor();
  *to = hook_words::timed(ticks, buffer.base_ticks(), what);
  buffer.commit(to + 1);
}

/// Is it the region of steps?
bool is_step(RegionId region) noexcept;
/// Is it a range of another annotation (a region of a group), which knows nothing of the regions
/// around it and may cross them?
bool may_cross(RegionId region) noexcept;

/// Leaves the region open[index]; those inside of it go on, as further pieces (kContinued), because
/// regions nest.
void leave_at(HookThread& thread, std::uint32_t index) noexcept;
/// Leaves regions until `region` is left: they should have been, and are counted, but for those
/// that may cross it, which go on. Of one that is not open nothing is left, and that is counted.
void leave_until(HookThread& thread, RegionId region) noexcept;

}  // namespace megascope::hooks
