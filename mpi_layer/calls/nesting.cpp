#include "core/encoding/decode_words.h"
#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/thread.h"

#include <unwind.h>

namespace megascope::mpi {
namespace {

/// Searches for MPI code between two frames of this library. Concludes nothing if the walk cannot
/// reach the end (code without unwind tables).
struct StackWalk {
  std::uintptr_t outer;
  std::uintptr_t inner;
  bool has_met_mpi = false;
  bool has_passed_outer = false;

  static _Unwind_Reason_Code look(_Unwind_Context* context, void* argument) {
    auto& walk = *static_cast<StackWalk*>(argument);
    const std::uintptr_t stack = _Unwind_GetCFA(context);  // the stack pointer in this frame
    if (stack <= walk.inner) return _URC_NO_REASON;        // frames of this library
    walk.has_passed_outer = stack > walk.outer;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of code, only compared
    walk.has_met_mpi = !walk.has_passed_outer &&
                       is_mpi_code(reinterpret_cast<const void*>(_Unwind_GetIP(context)));
    return walk.has_passed_outer || walk.has_met_mpi ? _URC_END_OF_STACK : _URC_NO_REASON;
  }
};

/// Returns whether the call with the frame `outer` was left by an exception, a jump or a cancelled
/// handler, so that the call with the frame `inner` is not inside of it.
bool was_left(std::uintptr_t outer, std::uintptr_t inner) noexcept {
  if (outer <= inner) return true;
  StackWalk walk{.outer = outer, .inner = inner};
  _Unwind_Backtrace(&StackWalk::look, &walk);
  return walk.has_passed_outer && !walk.has_met_mpi;
}

void write_left(MpiThread& thread, const CallRecord& call) noexcept {
  thread.staged_words = 0;
  stage(thread, {.kind = FactKind::kLeft});
  write_call(thread, call, call.enter_ticks, MPI_SUCCESS);
}

/// Records the innermost call that is noted as open but was left.
void write_innermost_left(MpiThread& thread) noexcept {
  CallRecord call;
  call.depth = static_cast<std::uint8_t>(thread.depth - 1);
  if (call.depth == 0) {
    EventBuffer& buffer = *thread.buffer;
    const encoding::Word* mark = buffer.pending().words;
    if (!encoding::is_region(mark[0])) return;
    call.fn = static_cast<Fn>(mark[0] & 0xFFFF);
    call.enter_ticks = encoding::entry_ticks(mark[0], buffer.base_ticks());
    const auto comm = static_cast<CommId>(mark[1] >> 32 & encoding::kWideComm);
    call.comm = comm == encoding::kWideComm ? kNoComm : comm;
  } else if (call.depth < MpiThread::kDepths) {
    const MpiThread::OpenCall& open = thread.open[call.depth];
    if (open.fn == Fn::kNone) return;
    call.fn = open.fn;
    call.enter_ticks = open.enter_ticks;
  } else {
    return;  // too deep to be distinguished
  }
  write_left(thread, call);
}

std::uintptr_t outer_frame_of_innermost(const MpiThread& thread) noexcept {
  const unsigned depth = thread.depth - 1U;
  return depth == 0 || depth >= MpiThread::kDepths ? 0 : thread.open[depth].outer_frame;
}

}  // namespace

bool nest_slow_path(MpiThread& thread, const NestedCall& call) noexcept {
  if (is_mpi_code(call.return_address)) return false;
  while (thread.active_frame != 0 && was_left(thread.active_frame, call.frame)) {
    write_innermost_left(thread);
    thread.active_frame = outer_frame_of_innermost(thread);
    --thread.depth;
  }
  if (thread.active_frame == 0) {
    thread.depth = 0;
  } else if (thread.depth < MpiThread::kDepths) {
    thread.open[thread.depth] = {thread.active_frame, clock::ticks(thread.use_tsc), call.fn};
  }
  return true;
}

}  // namespace megascope::mpi
