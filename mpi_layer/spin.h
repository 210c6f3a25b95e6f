#pragma once

#include <algorithm>
#include <cstdint>

#include "mpi_layer/call_record.h"
#include "mpi_layer/call_sites.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/thread.h"

/// Calls that find nothing, again and again: one record for a run of them, with the exact number of calls (FactKind
/// kRepeated). A run is broken by any other call of the thread, by another request or communicator, and after 2^32 ticks.
namespace megascope::mpi {

/// Tests and probes that return at once.
constexpr bool may_repeat(Fn fn) {
  switch (fn) {
    case Fn::Test:
    case Fn::Testall:
    case Fn::Testany:
    case Fn::Testsome:
    case Fn::Iprobe:
    case Fn::Improbe:
    case Fn::Request_get_status:
      return true;
    default:
      return false;
  }
}

/// Has the thread's run, should the call be one more of it, no need of the time? Then none is read, at entry and return.
template <Fn F>
[[gnu::always_inline]] inline bool may_skip_clock(const MpiThread& thread, const CallRecord& call) noexcept {
  if constexpr (!may_repeat(F)) return false;
  const MpiThread::Run& run = thread.run;
  return run.fn == F && run.unmeasured != 0 && run.end == thread.buffer->cursor() && call.depth == 0;
}

/// Before the call, after describe(): is it one more of the thread's run, should it find nothing?
template <Fn F>
[[gnu::always_inline]] inline void look_at_run(const MpiThread& thread, CallRecord& call, const void* return_address) noexcept {
  if constexpr (may_repeat(F)) {
    if (g_wants_call_sites) [[unlikely]] call.run_key += reinterpret_cast<std::uintptr_t>(return_address);
    const MpiThread::Run& run = thread.run;
    call.continues_run = run.fn == F && run.end == thread.buffer->cursor() && run.key == call.run_key && call.depth == 0 &&
                         !call.is_silent && run.call[0] == run.first_word;
    if (call.enter_ticks == 0 && !call.continues_run) call.enter_ticks = clock::ticks(thread.use_tsc);
  }
}

/// The mark of a call of depth 0 that may continue a run: of what, its mark says already.
template <Fn F>
[[gnu::always_inline]] inline void mark_before(MpiThread& thread, const CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.continues_run) {
      thread.buffer->pending().words[0] = thread.run.open_word;
      return;
    }
  }
  mark(*thread.buffer, call);
}

/// The time of the return; 0 where it will not be needed unless the call finds something.
template <Fn F>
[[gnu::always_inline]] inline std::uint64_t read_leave(const MpiThread& thread, const CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.enter_ticks == 0) return 0;
  }
  return clock::ticks(thread.use_tsc);
}

namespace spin {

/// Adds a call that found nothing, of known times, to the run. false: the run is too long, or there is no room.
bool extend(MpiThread& thread, std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;
/// Remembers the call just written at `at` as the first of a run, if it lies there as it was meant to.
void begin(MpiThread& thread, Fn fn, std::uint64_t key, encoding::Word* at, std::uint64_t enter_ticks,
           std::uint64_t leave_ticks) noexcept;

/// The same for a call without times: counts it.
[[gnu::always_inline]] inline void count(MpiThread& thread) noexcept {
  MpiThread::Run& run = thread.run;
  --run.unmeasured;
  run.fact[0] += encoding::Word{1} << 32;
  thread.buffer->pending().words[0] = run.first_word;
}

}  // namespace spin

/// After complete(). Records a call that found nothing as one more of its run; of one that found something in a run without
/// times it tells them: the return's is read now, the entry's is what tests in that run took before it.
template <Fn F>
[[gnu::always_inline]] inline bool is_written_as_run(MpiThread& thread, CallRecord& call, std::uint64_t& leave_ticks,
                                                     int rc) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.is_fruitless && rc == MPI_SUCCESS && call.continues_run) {
      if (leave_ticks == 0) spin::count(thread);
      if (leave_ticks == 0 || spin::extend(thread, call.enter_ticks, leave_ticks)) {
        thread.staged_words = 0;
        return true;
      }
    }
    if (leave_ticks == 0) {
      leave_ticks = clock::ticks(thread.use_tsc);
      call.enter_ticks = std::max(thread.run.measured_ticks, leave_ticks - thread.run.typical_ticks);
    }
  }
  return false;
}

/// Writes the call, which may be the first of a run.
template <Fn F>
[[gnu::always_inline]] inline void write_or_begin(MpiThread& thread, const CallRecord& call, std::uint64_t leave_ticks,
                                                  int rc) noexcept {
  if constexpr (may_repeat(F)) {
    encoding::Word* const at = thread.buffer->cursor();
    write_call(thread, call, leave_ticks, rc);
    if (call.is_fruitless && rc == MPI_SUCCESS && call.depth == 0) {
      spin::begin(thread, F, call.run_key, at, call.enter_ticks, leave_ticks);
    }
  } else {
    write_call(thread, call, leave_ticks, rc);
  }
}

}  // namespace megascope::mpi
