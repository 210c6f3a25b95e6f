#pragma once

#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/call_sites.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/table/fn.h"

#include <cstdint>

/// Coalesced polls: consecutive calls without result are stored as one record with their exact
/// number (FactKind kRepeated). A sequence ends when the thread records another call, when it polls
/// another request or communicator, and after 2^31 ticks.
///
/// In a long sequence most calls are untimed: the clock is read once for several of them
/// (docs/decisions/0016). An untimed call of C takes its own path through the wrapper
/// (Wrapper::poll()); of Fortran, each is timed.
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

/// What an untimed call of C does instead of Semantics<F>; specialised in semantics/polls.h for
/// each function of may_repeat(). Members:
///   identify(call, arguments): after describe() of a timed call: sets call.poll_key and
///     call.probed. poll_key 0: no untimed calls may follow.
///   continues(run, arguments): whether the call polls the same as the last timed call of the
///     sequence.
///   prepare(thread, arguments): before the call: replaces an ignored status and saves handles.
///     Returns RequestTable::horizon() where complete() needs it.
///   has_found(rc, arguments): after the call: whether it found something or failed.
///   restore(thread, call, horizon, arguments): if it did: sets in `call` what describe() sets.
template <Fn F>
struct Polling;

namespace coalesced_polls {

/// Adds a timed call without result to the sequence. Returns false if the sequence is too long or
/// the chunk is full.
bool extend(MpiThread& thread, const CallRecord& call, std::uint64_t leave_ticks) noexcept;
/// Begins a sequence with the call that was just written, if its record is at `at`.
void begin(MpiThread& thread, const CallRecord& call, encoding::Word* at,
           std::uint64_t leave_ticks) noexcept;
/// Reads the clock for the untimed calls since the last reading.
void read_clock(MpiThread& thread) noexcept;
/// Called before the record of an untimed call that is not added to the sequence: sets
/// call.enter_ticks, or stages that it is uncertain.
void settle_entry(MpiThread& thread, CallRecord& call, std::uint64_t leave_ticks) noexcept;

/// Returns whether a call of C is untimed. If the mark has word 0 of the sequence, no other call
/// was recorded since, and the thread is in no call.
template <Fn F, class... Args>
[[gnu::always_inline]] inline bool is_untimed(const MpiThread& thread,
                                              const Args&... args) noexcept {
  const MpiThread::Run& run = thread.run;
  return run.fn == F && run.untimed != 0 && thread.buffer->pending().words[0] == run.first_word &&
         Polling<F>::continues(run, args...);
}

/// Adds an untimed call without result to the sequence. Returns false if calls were recorded inside
/// of it.
[[gnu::always_inline]] inline bool count(MpiThread& thread) noexcept {
  using encoding::Word;
  MpiThread::Run& run = thread.run;
  if (run.end != thread.buffer->cursor()) [[unlikely]]
    return false;
  run.fact[0] += Word{1} << 32;
  run.fact[2] += run.typical_ticks;
  thread.buffer->pending().words[0] = run.first_word;
  if (--run.untimed == 0) [[unlikely]]
    read_clock(thread);
  return true;
}

}  // namespace coalesced_polls

/// Sets the entry time. Only Fortran's wrappers call it; untimed calls of C take another path.
template <Fn F>
[[gnu::always_inline]] inline void read_entry(const MpiThread& thread, CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    call.is_untimed = thread.run.fn == F && thread.run.untimed != 0;
    if (call.is_untimed) {
      call.enter_ticks = thread.run.last_ticks;
      return;
    }
  }
  call.enter_ticks = clock::ticks(thread.use_tsc);
}

/// Called before the MPI call, after describe(): stores in call.continues_run whether the call
/// continues the thread's sequence if it finds nothing. Reads the clock if it does not.
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
    if (call.is_untimed && !call.continues_run) {
      call.is_untimed = false;
      call.enter_ticks = clock::ticks(thread.use_tsc);
    }
  }
}

/// Returns the time at which the call returned; 0 for an untimed call. If that finds something, its
/// time is read later (is_written_as_run).
template <Fn F>
[[gnu::always_inline]] inline std::uint64_t read_leave(const MpiThread& thread,
                                                       const CallRecord& call) noexcept {
  if constexpr (may_repeat(F)) {
    if (call.is_untimed) return 0;
  }
  return clock::ticks(thread.use_tsc);
}

/// Called after complete(). If the call found nothing, continues a sequence and no call was
/// recorded inside of it, adds it to the sequence and returns true. Otherwise returns false;
/// leave_ticks is then read if it was 0.
template <Fn F>
[[gnu::always_inline]] inline bool is_written_as_run(MpiThread& thread, CallRecord& call,
                                                     std::uint64_t& leave_ticks, int rc) noexcept {
  if constexpr (may_repeat(F)) {
    const bool is_next = call.continues_run && thread.run.end == thread.buffer->cursor();
    if (is_next && call.is_fruitless && rc == MPI_SUCCESS) {
      if (call.is_untimed ? coalesced_polls::count(thread)
                          : coalesced_polls::extend(thread, call, leave_ticks)) {
        thread.staged_words = 0;
        return true;
      }
    }
    if (call.is_untimed) {
      leave_ticks = clock::ticks(thread.use_tsc);
      coalesced_polls::settle_entry(thread, call, leave_ticks);
    }
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
      coalesced_polls::begin(thread, call, at, leave_ticks);
    }
  } else {
    write_call(thread, call, leave_ticks, rc);
  }
}

}  // namespace megascope::mpi
