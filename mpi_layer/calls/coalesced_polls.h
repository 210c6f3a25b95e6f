#pragma once

#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/call_sites.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/table/fn.h"

#include <cstdint>

/// Coalesced polls: consecutive calls without result are stored as one record with their exact
/// number (FactKind kRepeated). The sequence ends with any other recorded call of the thread, with
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

/// Called before the MPI call, after describe(): notes whether the call would continue the thread's
/// sequence if it finds nothing.
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

/// Returns the time of the return; 0 if it is not needed unless the call finds something. In a
/// longer sequence it is read every eighth time, and the other calls are assumed to take as long as
/// the last one measured.
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
/// Begins a sequence with the call just written at `at`, if it is there.
void begin(MpiThread& thread, Fn fn, std::uint64_t key, encoding::Word* at,
           std::uint64_t enter_ticks, std::uint64_t leave_ticks) noexcept;

/// Adds a call without result to the sequence if the time of its return is not read. The sequence
/// lasts at least until the entry of this call.
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

/// Called after complete(). Adds a call without result to its sequence, unless calls were recorded
/// inside of it; for other calls ensures that the time of the return is known.
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

/// Writes the call, which may begin a sequence.
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
