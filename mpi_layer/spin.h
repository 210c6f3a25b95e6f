#pragma once

#include "mpi_layer/call_record.h"
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

/// Is the call one more of the thread's run, should it find nothing? After describe().
[[gnu::always_inline]] inline bool continues_run(const MpiThread& thread, const CallRecord& call) noexcept {
  const MpiThread::Run& run = thread.run;
  return run.fn == call.fn && run.end == thread.buffer->cursor() && run.key == call.run_key && call.depth == 0 &&
         run.call[0] == run.first_word;
}

/// In a long run the clock is read at each entry, and only at every eighth return: the others take as long as the last one.
[[gnu::always_inline]] inline bool may_skip_clock(const MpiThread& thread, const CallRecord& call) noexcept {
  return call.continues_run && (thread.run.count & 7) != 0 && thread.run.count >= 8;
}

/// Records a call that found nothing. leave_ticks: 0 where the clock was not read.
void write_fruitless(MpiThread& thread, const CallRecord& call, std::uint64_t leave_ticks) noexcept;

}  // namespace megascope::mpi
