#pragma once

#include "core/base/clock.h"
#include "core/base/thread_cpu.h"
#include "core/buffer/event_buffer.h"
#include "core/encoding/hook_words.h"

#include <atomic>
#include <cstdint>

/// State of one thread that calls hooks, and the hot path of hooks.h. Nothing throws. Nothing
/// allocates, locks or makes a system call, except:
/// - a thread's first hook;
/// - its first hook after a change of is_kept() or of the shown tensors: a mutex and getpid();
/// - the start of a new chunk;
/// - a begin_step() that changes is_kept(): a mutex, and the WindowFollower;
/// - begin_step() and end_step() with kCpu: they read CPU time.
namespace megascope::hooks {

/// Bits of a thread's gate: what the thread records.
inline constexpr std::uint8_t kRegions = 1;  ///< regions, steps, counters, marks
inline constexpr std::uint8_t kTensors = 2;  ///< tensors, as records
inline constexpr std::uint8_t kShows = 4;    ///< tensors are passed to the sink
inline constexpr std::uint8_t
    kSteps = 8;  ///< step boundaries are followed; always set while recording

inline constexpr std::uint8_t kDetails = 32;  ///< attributes and colours of ranges

inline constexpr std::uint8_t kCpu = 64;  ///< CPU time is read (cpu_readings.h)
inline constexpr std::uint8_t
    kPlain = 16;  ///< in a thread's gate only: regions are recorded and the clock is the TSC

/// CPU readings of a thread.
struct CpuState {
  ThreadCpuReader reader;
  ThreadCpu last;  ///< valid if has_last
  bool has_last;
  std::uint64_t boundary_ticks;  ///< time of the last reading at a step boundary
  std::uint64_t cost_ticks;      ///< cost of one reading
};

/// State of one thread. It is stored in fork_wiped_memory(), so that in a forked child it is zeroed
/// and its gate is closed.
struct HookThread {
  static constexpr std::uint32_t kMaxOpen = 256;

  std::uint8_t gate;
  bool use_tsc;
  std::uint32_t depth;   ///< number of open regions
  std::uint32_t beyond;  ///< number of further open regions, which did not fit and are not recorded
  bool is_outside;       ///< the thread's records are not kept in the trace
  bool is_held;          ///< the thread does not follow changes of is_kept() (KeptWhile)
  EventBuffer* buffer;
  RegionId open[kMaxOpen];  ///< open regions, outermost first
  std::int64_t step;        ///< the step that the thread began last
  CpuState cpu;
};

/// Returns the thread's gate. Other threads may clear it.
[[gnu::always_inline]] inline std::uint8_t gate_of(HookThread& thread) noexcept {
  return std::atomic_ref(thread.gate).load(std::memory_order_relaxed);
}

/// State of the calling thread. Until begin_thread() has created it, points to an object with a
/// closed gate that threads share.
extern constinit thread_local HookThread* t_hooks;

/// A gate is a byte that says what a thread records. A hook checks it first. g_gate is the gate of
/// threads that have not called a hook yet. Its bit kMayBegin is set while nothing is recorded and
/// the next hook may start a recording.
inline constexpr std::uint8_t kMayBegin = 0x80;
extern constinit std::atomic<std::uint8_t> g_gate;

/// Returns whether this process was forked by the process that records. The recorder's memory is
/// not mapped here.
bool is_forked_child() noexcept;

/// Selects whether records of all threads are kept. The calling thread follows at once, other
/// threads at their next hook.
void keep(bool is_kept) noexcept;

/// Creates the calling thread's state at its first hook and sets its gate to the bits of g_gate.
/// Returns nullptr if none of `bits` is recorded.
HookThread* begin_thread(std::uint8_t bits) noexcept;
/// Returns the calling thread's state if one of `bits` is set in its gate; creates the state at the
/// first hook. Returns nullptr if the hook must be ignored.
[[gnu::always_inline]] inline HookThread* thread_for(std::uint8_t bits) noexcept {
  HookThread* thread = t_hooks;
  if ((gate_of(*thread) & bits) != 0) [[likely]]
    return thread;
  if ((g_gate.load(std::memory_order_relaxed) & (bits | kMayBegin)) == 0) [[likely]]
    return nullptr;
  return begin_thread(bits);
}

/// Ensures space for `words` words at the time `ticks`. Returns false if there is none; the loss is
/// counted.
bool make_space(EventBuffer& buffer, std::size_t words, std::uint64_t ticks) noexcept;
[[gnu::always_inline]] inline bool has_space(EventBuffer& buffer, std::size_t words,
                                             std::uint64_t ticks) noexcept {
  const bool fits = buffer.has_space(words) && encoding::time_fits(ticks, buffer.base_ticks());
  return fits || make_space(buffer, words, ticks);
}

/// Writes one word that holds the time and `what`: the region that is entered, or a code of
/// hook_words.h. Without space nothing is written and the loss is counted.
[[gnu::always_inline]] inline void put(HookThread& thread, std::uint64_t ticks,
                                       unsigned what) noexcept {
  EventBuffer& buffer = *thread.buffer;
  if (!has_space(buffer, 1, ticks)) [[unlikely]]
    return;
  encoding::Word* to = buffer.cursor();
  *to = hook_words::timed(ticks, buffer.base_ticks(), what);
  buffer.commit(to + 1);
}

/// Adds the region to the open regions. Returns false if kMaxOpen regions are open.
[[gnu::always_inline]] inline bool push(HookThread& thread, RegionId region) noexcept {
  if (thread.depth == HookThread::kMaxOpen) [[unlikely]] {
    ++thread.beyond;
    return false;
  }
  thread.open[thread.depth++] = region;
  return true;
}

/// put_plainly() writes one word with the present time and `what`, like put(), in as few
/// instructions as possible. Call it only for a thread whose gate has kPlain. put_slow_path() is
/// its slow path.
void put_slow_path(HookThread& thread, std::uint64_t ticks, unsigned what) noexcept;
[[gnu::always_inline]] inline void put_plainly(HookThread& thread, unsigned what) noexcept {
  const std::uint64_t ticks = clock::tsc_ticks();
  EventBuffer& buffer = *thread.buffer;
  if (!buffer.has_space(1) || !encoding::time_fits(ticks, buffer.base_ticks())) [[unlikely]]
    return put_slow_path(thread, ticks, what);
  encoding::Word* to = buffer.cursor();
  *to = hook_words::timed(ticks, buffer.base_ticks(), what);
  buffer.commit(to + 1);
}

/// Returns whether this is the region of steps.
bool is_step(RegionId region) noexcept;
/// Returns whether this region has a group (NVTX domain). Such regions are independent of other
/// annotations and may overlap them.
bool may_cross(RegionId region) noexcept;

/// Leaves the region open[index]. The regions inside of it are closed and entered again
/// (kContinued), because regions nest.
void leave_at(HookThread& thread, std::uint32_t index) noexcept;
/// Leaves regions until `region` is left. The regions inside of it are counted as unbalanced,
/// except those that may_cross(), which continue. If `region` is not open, leaves no region and
/// counts the call as unbalanced.
void leave_until(HookThread& thread, RegionId region) noexcept;

}  // namespace megascope::hooks
