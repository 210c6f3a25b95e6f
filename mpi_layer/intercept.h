#pragma once

#include <mpi.h>

#include <cstdint>
#include <type_traits>

#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/thread.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {

/// What a call says beyond "it was called": nothing.
struct NoMeaning {
  /// Before the call. May replace an ignored status by one of ours. Never fails, never communicates.
  template <class... Args>
  static void describe(MpiThread&, CallRecord&, Args&...) noexcept {}
  /// After the call, whatever it returned.
  template <class... Args>
  static void complete(MpiThread&, CallRecord&, int, Args&...) noexcept {}
};

/// The first, the last argument, and the one at an index. Not found by type: with MPICH all handles are int.
template <class First, class... Rest>
[[gnu::always_inline]] inline First& first_of(First& first, Rest&...) noexcept {
  return first;
}
template <class First, class... Rest>
[[gnu::always_inline]] inline auto& last_of(First& first, Rest&... rest) noexcept {
  if constexpr (sizeof...(Rest) == 0) return first;
  else return last_of(rest...);
}
template <unsigned Index, class First, class... Rest>
[[gnu::always_inline]] inline auto& argument(First& first, Rest&... rest) noexcept {
  if constexpr (Index == 0) return first;
  else return argument<Index - 1>(rest...);
}

/// Specialised for functions with more to say; meaning_*.h.
template <Fn F>
struct Meaning : NoMeaning {};

/// A failed call leaves no message, only its error code.
void note_failure(MpiThread& thread, CallRecord& call, int error) noexcept;

/// The body of every wrapper. Our own steps are noexcept; what the application's callbacks throw, and cancellation and
/// longjmp, pass through: there is nothing to clean up here (no landing pad), what is left behind is the mark of the call
/// and a stale frame address, which only makes the next calls ask where they come from.
template <Fn F, class Signature>
struct Wrapper;

template <Fn F, class... Args>
struct Wrapper<F, int (*)(Args...)> {
  /// Decides, and jumps: the recording body is a function of its own, so that a call that is not recorded does not pay
  /// for its frame. Both have the caller's return address, because the jump is a tail call (wrappers are always
  /// optimised, see CMakeLists.txt).
  [[gnu::always_inline]] static int call(Args... args) {
    if ((t_thread->gate & bit(group_of(F))) != 0) [[likely]] return record(args...);
    if (recorder() == nullptr) return twin<F>()(args...);
    return begin(args...);
  }

 private:
  /// The thread's first call, or one of a group that is not recorded.
  [[gnu::noinline]] static int begin(Args... args) {
    if (enter_slowly(group_of(F)) == nullptr) return twin<F>()(args...);
    return record(args...);
  }

  [[gnu::noinline]] static int record(Args... args) {
    MpiThread* thread = t_thread;
    // Called from inside a call that is in MPI: by the application's callback, or by MPI itself?
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    std::uintptr_t outer_frame = thread->active_frame;
    std::uint8_t outer_depth = 0;
    CallRecord call;
    call.fn = F;
    if (outer_frame > frame) [[unlikely]] {
      if (is_mpi_code(__builtin_return_address(0))) return twin<F>()(args...);
      outer_depth = thread->depth;
      if (was_left(outer_frame, frame)) outer_frame = outer_depth = 0;
      call.depth = outer_depth < encoding::kDepthMask ? outer_depth : encoding::kDepthMask;
    } else {
      outer_frame = 0;  // a frame deeper than this one was left without a return
    }
    call.enter_ticks = clock::ticks(thread->use_tsc);
    Meaning<F>::describe(*thread, call, args...);
    if (call.depth == 0) mark_pending(*thread->buffer, call);
    thread->active_frame = frame;
    thread->depth = static_cast<std::uint8_t>(call.depth + 1);
    const int rc = twin<F>()(args...);
    if (thread->buffer == nullptr) [[unlikely]] return rc;  // this is a child, forked inside the call
    const std::uint64_t leave_ticks = clock::ticks(thread->use_tsc);
    thread->active_frame = outer_frame;
    thread->depth = outer_depth;
    Meaning<F>::complete(*thread, call, rc, args...);
    write_call(*thread, call, leave_ticks, rc);
    return rc;
  }
};

}  // namespace megascope::mpi
