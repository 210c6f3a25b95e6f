#pragma once

#include "core/hooks/hook_thread.h"
#include "core/hooks/window.h"
#include "core/lifecycle/counter_sink.h"
#include "core/lifecycle/tensor_sink.h"
#include "core/record/definitions.h"
#include "core/record/value_fact.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

/// What a program tells about itself. Whoever hears it, the hook API or NVTX, calls these. All of
/// it is safe at any time, from any thread, also before a recording has begun, after it has ended,
/// and in a forked child: it is then passed over, except names, which are known from then on.
/// Nothing is thrown; what cannot be recorded is counted (refusals.h).
namespace megascope::hooks {

/// The number of a name, the same each time; kNoRegion: it has none, since it is empty or there are
/// too many. Any bytes; what is behind the first 1000 does not count. group: what readers group it
/// by (RegionDefinition); names of two groups are two regions. Takes a lock: not for the hot path.
RegionId region(std::string_view name, std::string_view group = {}) noexcept;

/// A number that goes with a region.
struct Number {
  ValueName name;
  std::int64_t value;
};

/// The calling thread enters a region. kNoRegion: nothing.
void enter_slowly(RegionId region) noexcept;
[[gnu::always_inline]] inline void enter(RegionId region) noexcept {
  HookThread* thread = t_hooks;
  const bool is_region = region >= kFirstProgramRegion && region < kFirstReservedRegion;
  if ((gate_of(*thread) & kPlain) == 0 || !is_region || thread->depth == HookThread::kMostOpen)
      [[unlikely]] {
    if (gate_of(*thread) == 0 &&
        (g_gate.load(std::memory_order_relaxed) & (kRegions | kMayBegin)) == 0)
      return;
    return enter_slowly(region);
  }
  thread->open[thread->depth++] = region;
  put_plainly(*thread, region);
}
/// The same with at most kMostNumbers numbers.
inline constexpr std::size_t kMostNumbers = 8;
void enter(RegionId region, std::span<const Number> numbers) noexcept;

/// It leaves the region that it entered last, which should be `region`.
void leave_slowly(RegionId region) noexcept;
[[gnu::always_inline]] inline void leave(RegionId region) noexcept {
  HookThread* thread = t_hooks;
  if ((gate_of(*thread) & kPlain) == 0 || thread->depth == 0 ||
      thread->open[thread->depth - 1] != region || thread->beyond != 0) [[unlikely]] {
    if (gate_of(*thread) == 0 &&
        (g_gate.load(std::memory_order_relaxed) & (kRegions | kMayBegin)) == 0)
      return;
    return leave_slowly(region);
  }
  --thread->depth;
  put_plainly(*thread, hook_words::kLeave);
}
/// It leaves the innermost one, whatever that is.
void leave_innermost() noexcept;

/// A step of the program begins, and the one that the thread is in ends. step: 0 or more.
void begin_step(std::int64_t step) noexcept;
void end_step() noexcept;
/// Of the step that began last in the process; -1: none has.
std::int64_t current_step() noexcept;

/// kNoCounter: as kNoRegion. The unit of its first definition counts.
inline constexpr CounterId kNoCounter = 0xFFFFFFFF;
CounterId counter(std::string_view name, std::string_view unit) noexcept;
void count(CounterId counter, double value) noexcept;

/// A moment with a name.
void mark(RegionId name) noexcept;

/// A range of time starts that nests with nothing and that any thread may stop. Returns its number,
/// unique in the process; 0: it is not recorded, as when nothing is, or when about kMostRanges are
/// open. No lock.
inline constexpr std::size_t kMostRanges = 1U << 14;
std::uint64_t start_range(RegionId name) noexcept;
/// 0: nothing. One that is not open is counted as unbalanced.
void stop_range(std::uint64_t range) noexcept;

/// system_thread_id: gettid() of a thread of this process, which may tell things later only. The
/// last name counts.
void name_thread(std::int64_t system_thread_id, std::string_view name) noexcept;

/// The program shows a tensor. view.id and view.step are set here. Where nothing is recorded of
/// tensors and nobody looks, this costs a load and a branch.
void show_slowly(TensorView& view) noexcept;
[[gnu::always_inline]] inline bool wants_tensors() noexcept {
  return thread_for(kTensors | kShows) != nullptr;
}

/// The same of a tensor of this name, which is looked up.
bool wants_tensor(std::string_view name) noexcept;

/// This process's place in a dimension of the parallel program: its index among `size`. False:
/// refused.
bool set_place(std::string_view name, std::int32_t index, std::int32_t size) noexcept;
/// The same of all dimensions, from the process's rank (parallel_layout.h).
bool set_places(std::string_view layout) noexcept;

// What follows is for the front door, and for producers that record beside hooks.

/// Are records kept, or do they feed the report's sums only (StepWindow)?
bool is_kept() noexcept;
/// Called with the new answer, by the thread that begins a step. One follower.
using WindowFollower = void (*)(bool is_kept);
void set_window_follower(WindowFollower follower) noexcept;

/// Called by the thread that begins a step, between the step before and this one, ahead of what
/// decides whether it is recorded. One follower. No step of ours is open then.
using StepFollower = void (*)(std::int64_t step);
void set_step_follower(StepFollower follower) noexcept;
/// Steps from `first` on, `count` of them, are recorded whatever the window says. Replaces what was
/// said before.
void also_keep(std::int64_t first, std::int64_t count) noexcept;

/// While it lives, what the calling thread tells is kept in the trace though the step that it is in
/// is not: what is told late of one that was. No region is entered or left meanwhile; what the
/// thread would follow, should another begin a step, it follows at the end.
class KeptWhile {
 public:
  KeptWhile() noexcept;
  ~KeptWhile();
  KeptWhile(const KeptWhile&) = delete;
  KeptWhile& operator=(const KeptWhile&) = delete;

 private:
  HookThread* thread_;  ///< nullptr: it is kept anyhow, or nothing is recorded
};

/// Grows with each place in a parallel group that is told.
std::uint32_t places_version() noexcept;

/// From now on what is told is recorded there. gate: kRegions … of hook_thread.h. recorder outlives
/// the process.
void open(Recorder& recorder, std::uint8_t gate, const StepWindow& window) noexcept;
/// And now no longer, for good.
void close() noexcept;
/// Where it is recorded; nullptr: nowhere, as in a forked child.
Recorder* recorder() noexcept;
/// Before open(). sink outlives the process.
void set_tensor_sink(TensorSink* sink) noexcept;
/// What the sink wants has changed: it is asked again of each name. is_wanted: it is shown tensors
/// from now on, whether records are kept or not; else only where open() said so.
void show_tensors(bool is_wanted) noexcept;
/// sink hears of counters from now on; nullptr: nobody does. It outlives the process.
void show_counters(CounterSink* sink) noexcept;
/// As it was defined; empty: no such counter.
std::string counter_name(CounterId counter);
std::string counter_unit(CounterId counter);

}  // namespace megascope::hooks
