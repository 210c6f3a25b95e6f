#pragma once

#include "mpi_layer/call_record.h"
#include "mpi_layer/call_sites.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/thread.h"

#include <cstdint>

/// Calls that find nothing, again and again: one record for a run of them, with the exact number of
/// calls (FactKind kRepeated). A run is broken by any other recorded call of the thread, by another
/// request (of calls on one) or communicator, and after 2^31 ticks.
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

/// Before the call, after describe(): is it one more of the thread's run, should it find nothing?
template <Fn F>
[[gnu::always_inline]] inline void look_at_run(const MpiThread& thread, CallRecord& call,
                                               const void* return_address) noexcept {
  if constexpr (may_repeat(F)) {
    if (g_wants_call_sites) [[unlikely]]
      call.run_key += reinterpret_cast<std::uintptr_t>(return_address);
    const MpiThread::Run& run = thread.run;
    constexpr std::uint64_t kLongest = encoding::kLongDuration /
                                       2;  // with the call itself the run's duration fits
    call.continues_run = run.fn == F && run.end == thread.buffer->cursor() &&
                         run.key == call.run_key && call.depth == 0 && !call.is_silent &&
                         run.call[0] == run.first_word &&
                         call.enter_ticks - run.enter_ticks < kLongest;
  }
}

/// The time of the return; 0 where it will not be needed unless the call finds something: in a
/// longer run it is read every eighth time only, and the others take as long as the last one.
template <Fn F>
[[gnu::always_inline]] inline std::uint64_t read_leave(const MpiThread& thread,
                                                       const CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.continues_run && thread.run.unmeasured != 0) return 0;
  }
  return clock::ticks(thread.use_tsc);
}

namespace spin {

/// Adds a call that found nothing, of known times, to the run. false: the run is too long, or there
/// is no room.
bool extend(MpiThread& thread, std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;
/// Remembers the call just written at `at` as the first of a run, if it lies there as it was meant
/// to.
void begin(MpiThread& thread, Fn fn, std::uint64_t key, encoding::Word* at,
           std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;

/// The same for a call whose return is not timed: the run lasts at least to its entry.
[[gnu::always_inline]] inline void count(MpiThread& thread, std::uint64_t enter_ticks) noexcept {
  using encoding::Word;
  MpiThread::Run& run = thread.run;
  --run.unmeasured;
  run.busy_ticks += run.typical_ticks;
  thread.busy_ticks += run.typical_ticks;
  run.fact[0] += Word{1} << 32;
  run.fact[2] = (run.fact[2] & Word{encoding::kWideComm} << 48) | run.busy_ticks;
  run.call[1] = (run.call[1] & ~Word{0xFFFFFFFF}) | (enter_ticks - run.enter_ticks);
  thread.buffer->pending().words[0] = run.first_word;
}

}  // namespace spin

/// After complete(). Records a call that found nothing as one more of its run, unless calls were
/// recorded inside of it; of any other, makes sure that the time of the return is known.
template <Fn F>
[[gnu::always_inline]] inline bool is_written_as_run(MpiThread& thread, const CallRecord& call,
                                                     std::uint64_t& leave_ticks, int rc) noexcept {
  if constexpr (may_repeat(F)) {
    const bool is_next = call.continues_run && thread.run.end == thread.buffer->cursor();
    if (is_next && call.is_fruitless && rc == MPI_SUCCESS) {
      if (leave_ticks == 0) spin::count(thread, call.enter_ticks);
      if (leave_ticks == 0 || spin::extend(thread, call.enter_ticks, leave_ticks)) {
        thread.staged_words = 0;
        return true;
      }
    }
    if (leave_ticks == 0) leave_ticks = clock::ticks(thread.use_tsc);
  }
  return false;
}

/// Writes the call, which may be the first of a run.
template <Fn F>
[[gnu::always_inline]] inline void write_or_begin(MpiThread& thread, const CallRecord& call,
                                                  std::uint64_t leave_ticks, int rc) noexcept {
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
