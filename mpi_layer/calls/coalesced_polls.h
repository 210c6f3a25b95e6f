#pragma once

#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/call_sites.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/table/fn.h"

#include <cstdint>

/// Coalesced polls: consecutive calls without result are stored as one record with their exact
/// number (FactKind kRepeated). A sequence ends when the thread records another call, when it polls
/// another request or communicator, and after 2^31 ticks.
namespace megascope::mpi {

/// Returns whether the function is a test or probe that returns at once.
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

/// Called before the MPI call, after describe(): stores in call.continues_run whether the call
/// continues the thread's sequence if it finds nothing.
template <Fn F>
[[gnu::always_inline]] inline void look_at_run(const MpiThread& thread, CallRecord& call,
                                               const void* return_address) noexcept {
  if constexpr (may_repeat(F)) {
    if (g_wants_call_sites) [[unlikely]]
      call.run_key += reinterpret_cast<std::uintptr_t>(return_address);
    const MpiThread::Run& run = thread.run;
    constexpr std::uint64_t kLongest = encoding::kLongDuration /
                                       2;  // with the call itself the duration of the sequence fits
    call.continues_run = run.fn == F && run.end == thread.buffer->cursor() &&
                         run.key == call.run_key && call.depth == 0 && !call.is_silent &&
                         run.call[0] == run.first_word &&
                         call.enter_ticks - run.enter_ticks < kLongest;
  }
}

/// Returns the time at which the call returned. In a longer sequence the clock is read for every
/// eighth call only; for the others the function returns 0. A call without time is assumed to take
/// as long as the last measured call. If it finds something, its time is read later
/// (is_written_as_run).
template <Fn F>
[[gnu::always_inline]] inline std::uint64_t read_leave(const MpiThread& thread,
                                                       const CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.continues_run && thread.run.unmeasured != 0) return 0;
  }
  return clock::ticks(thread.use_tsc);
}

namespace coalesced_polls {

/// Adds a call without result to the sequence. Returns false if the sequence is too long or the
/// chunk is full.
bool extend(MpiThread& thread, std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;
/// Begins a sequence with the call that was just written, if its record is at `at`.
void begin(MpiThread& thread, Fn fn, std::uint64_t key, encoding::Word* at,
           std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;

/// Adds a call without result, whose return time was not read, to the sequence. The duration of the
/// sequence then extends to the entry of this call.
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

}  // namespace coalesced_polls

/// Called after complete(). If the call found nothing, continues a sequence and no call was
/// recorded inside of it, adds it to the sequence and returns true. Otherwise returns false;
/// leave_ticks is then read if it was 0.
template <Fn F>
[[gnu::always_inline]] inline bool is_written_as_run(MpiThread& thread, const CallRecord& call,
                                                     std::uint64_t& leave_ticks, int rc) noexcept {
  if constexpr (may_repeat(F)) {
    const bool is_next = call.continues_run && thread.run.end == thread.buffer->cursor();
    if (is_next && call.is_fruitless && rc == MPI_SUCCESS) {
      if (leave_ticks == 0) coalesced_polls::count(thread, call.enter_ticks);
      if (leave_ticks == 0 || coalesced_polls::extend(thread, call.enter_ticks, leave_ticks)) {
        thread.staged_words = 0;
        return true;
      }
    }
    if (leave_ticks == 0) leave_ticks = clock::ticks(thread.use_tsc);
  }
  return false;
}

/// Writes the record of a call. If the call found nothing, begins a sequence with it.
template <Fn F>
[[gnu::always_inline]] inline void write_or_begin(MpiThread& thread, const CallRecord& call,
                                                  std::uint64_t leave_ticks, int rc) noexcept {
  if constexpr (may_repeat(F)) {
    encoding::Word* const at = thread.buffer->cursor();
    write_call(thread, call, leave_ticks, rc);
    if (call.is_fruitless && rc == MPI_SUCCESS && call.depth == 0) {
      coalesced_polls::begin(thread, F, call.run_key, at, call.enter_ticks, leave_ticks);
    }
  } else {
    write_call(thread, call, leave_ticks, rc);
  }
}

}  // namespace megascope::mpi
