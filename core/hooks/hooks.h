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

/// Annotations of the application: regions, steps, counters, marks, tensors, grid coordinates. The
/// hook API and the NVTX interface call these functions.
/// Threads and phase: any thread, at any time, also before recording starts, after it ended and in
/// a forked child. The first hook may start a recording. Calls outside of a recording are ignored,
/// except definitions of names, which are kept.
/// Errors: nothing throws. The report shows two counts (refusals.h):
/// - Refused: invalid arguments, too many names, no memory, and coordinates that are set while
///   nothing is recorded. The call is ignored.
/// - Unbalanced: enter and leave, or steps, out of order. The call is ignored or corrected; a step
///   whose number does not increase is recorded.
/// Ignored without a count: kNoRegion, regions deeper than HookThread::kMaxOpen, name_thread() with
/// an empty name or for too many threads; set_place() and set_places() without memory, which return
/// false. Records that find no space in the buffer are counted as losses of the recording.
namespace megascope::hooks {

/// Returns the identifier of a region name. The same name and group always have the same
/// identifier. Returns kNoRegion, and counts a refused call, if the name is empty, if there are too
/// many names, or if memory runs out. name: any bytes, of which the first 1000 are significant.
/// group: RegionDefinition::group; the same name in two groups is two regions. Takes a lock: not
/// for the hot path.
RegionId region(std::string_view name, std::string_view group = {}) noexcept;

/// An attribute of a region instance, such as its micro-batch.
struct Number {
  ValueName name;
  std::int64_t value;
};

/// The calling thread enters a region. kNoRegion is ignored. The slow path creates the thread's
/// state and checks everything; enter() is the hot path of a recording thread.
void enter_slow_path(RegionId region) noexcept;
[[gnu::always_inline]] inline void enter(RegionId region) noexcept {
  HookThread* thread = t_hooks;
  const bool is_region = region >= kFirstProgramRegion && region < kFirstReservedRegion;
  if ((gate_of(*thread) & kPlain) == 0 || !is_region || thread->depth == HookThread::kMaxOpen)
      [[unlikely]] {
    if (gate_of(*thread) == 0 &&
        (g_gate.load(std::memory_order_relaxed) & (kRegions | kMayBegin)) == 0)
      return;
    return enter_slow_path(region);
  }
  thread->open[thread->depth++] = region;
  put_plainly(*thread, region);
}
/// The calling thread enters a region with attributes. At most kMaxNumbers of them are recorded;
/// further ones are ignored.
inline constexpr std::size_t kMaxNumbers = 8;
void enter(RegionId region, std::span<const Number> numbers) noexcept;

/// The calling thread leaves a region. leave_until() (hook_thread.h) describes what happens if the
/// thread entered another region last.
void leave_slow_path(RegionId region) noexcept;
[[gnu::always_inline]] inline void leave(RegionId region) noexcept {
  HookThread* thread = t_hooks;
  if ((gate_of(*thread) & kPlain) == 0 || thread->depth == 0 ||
      thread->open[thread->depth - 1] != region || thread->beyond != 0) [[unlikely]] {
    if (gate_of(*thread) == 0 &&
        (g_gate.load(std::memory_order_relaxed) & (kRegions | kMayBegin)) == 0)
      return;
    return leave_slow_path(region);
  }
  --thread->depth;
  put_plainly(*thread, hook_words::kLeave);
}
/// Leaves the innermost region of the calling thread.
void leave_innermost() noexcept;

/// Begins a step on the calling thread and ends the step that the thread is in. step: 0 or more.
void begin_step(std::int64_t step) noexcept;
/// Ends the calling thread's step.
void end_step() noexcept;
/// Returns the number of the step that began last in the process; -1 if none has.
std::int64_t current_step() noexcept;

/// Returns the identifier of a counter. Returns kNoCounter under the conditions under which
/// region() returns kNoRegion. The unit of the first definition is used.
inline constexpr CounterId kNoCounter = 0xFFFFFFFF;
CounterId counter(std::string_view name, std::string_view unit) noexcept;
void count(CounterId counter, double value) noexcept;

/// Records an instant with a name.
void mark(RegionId name) noexcept;

/// Approximate number of ranges that can be open at once.
inline constexpr std::size_t kMaxRanges = 1U << 14;
/// Starts a range: an interval that need not nest with regions and that any thread may stop.
/// Returns its number, unique in the process; Returns 0 if nothing is recorded, if `name` is not a
/// region, or if about kMaxRanges ranges are open. Only in the last case the call is counted as
/// refused. Takes no lock.
std::uint64_t start_range(RegionId name) noexcept;
/// Stops a range. 0 is ignored. A range that is not open is counted as unbalanced.
void stop_range(std::uint64_t range) noexcept;

/// Names a thread of this process. system_thread_id: its gettid(); the thread need not have called
/// a hook yet. The last name is used.
void name_thread(std::int64_t system_thread_id, std::string_view name) noexcept;

/// Records a tensor and passes it to the TensorSink. Sets view.id and view.step.
void show_slow_path(TensorView& view) noexcept;
/// Returns whether tensors are recorded or passed to the sink. One load and one branch if not.
[[gnu::always_inline]] inline bool wants_tensors() noexcept {
  return thread_for(kTensors | kShows) != nullptr;
}

/// Returns whether a tensor of this name would be recorded or taken by the sink. Looks the name up
/// under a lock.
bool wants_tensor(std::string_view name) noexcept;

/// Sets the grid coordinate of this process in one dimension. Returns false if it is refused.
bool set_place(std::string_view name, std::int32_t index, std::int32_t size) noexcept;
/// Sets the coordinates of all dimensions from the rank of this process (parallel_layout.h).
bool set_places(std::string_view layout) noexcept;

// The functions below are for plugin/run and for producers that record in addition to hooks.

/// Returns whether records are kept in the trace now; otherwise they are added to the profile only
/// (StepWindow).
bool is_kept() noexcept;
/// Sets the function that is called when is_kept() changes, with the new value, by the thread that
/// begins a step. One function at a time.
using WindowFollower = void (*)(bool is_kept);
void set_window_follower(WindowFollower follower) noexcept;

/// Sets the function that is called at each step boundary, by the thread that begins the step,
/// after the previous step ended and before it is decided whether this step is recorded. One
/// function at a time.
using StepFollower = void (*)(std::int64_t step);
void set_step_follower(StepFollower follower) noexcept;
/// Records the `count` steps from `first` in addition to those that the StepWindow selects.
/// Replaces the interval of the previous call.
void also_keep(std::int64_t first, std::int64_t count) noexcept;

/// Keeps the calling thread's records in the trace for a scope, although its current step is not
/// recorded. For results of a recorded step that arrive later. The thread must not enter or leave
/// regions meanwhile. If another thread begins a step meanwhile, this thread follows at the end of
/// the scope.
class KeptWhile {
 public:
  KeptWhile() noexcept;
  ~KeptWhile();
  KeptWhile(const KeptWhile&) = delete;
  KeptWhile& operator=(const KeptWhile&) = delete;

 private:
  HookThread* thread_;  ///< null: the records are kept anyway, or nothing is recorded
};

/// Returns a number that grows with each grid coordinate that is set.
std::uint32_t places_version() noexcept;

/// Starts recording into `recorder`. gate: the kinds of annotations to record, as bits (kRegions
/// and others, hook_thread.h). The recorder must exist until the process ends.
void open(Recorder& recorder, std::uint8_t gate, const StepWindow& window) noexcept;
/// Ends recording for good.
void close() noexcept;
/// Returns the recorder; nullptr if nothing is recorded, and in a forked child.
Recorder* recorder() noexcept;
/// Sets the sink of tensors. Call before open(). The sink must exist until the process ends.
void set_tensor_sink(TensorSink* sink) noexcept;
/// Call when the selection of the sink has changed: TensorSink::wanted_kinds() is then called again
/// for each known name. is_wanted: true to pass tensors to the sink in all steps; false to pass
/// them in recorded steps only, if the gate of open() has kShows.
void show_tensors(bool is_wanted) noexcept;
/// Sets the sink that receives counter values from now on; nullptr: none. It must exist until the
/// process ends.
void show_counters(CounterSink* sink) noexcept;
/// Returns the name of a counter; empty if there is no such counter.
std::string counter_name(CounterId counter);
/// Returns the unit of a counter; empty if there is none.
std::string counter_unit(CounterId counter);

}  // namespace megascope::hooks
