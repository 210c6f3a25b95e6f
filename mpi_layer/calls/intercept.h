#pragma once

#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/call_sites.h"
#include "mpi_layer/calls/coalesced_polls.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/table/fn.h"
#include "mpi_layer/table/selection.h"

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace megascope::mpi {

/// Semantics of a call that is recorded with entry and return only. Semantics with more data list
/// it in kRecordedFields for `megascope info`; a test compares the list with the records. They
/// define kNamesObject if they record only the object of the call, or the size of what it created,
/// and not all meaningful arguments.
struct NoSemantics {
  static constexpr std::string_view kRecordedFields = "";
  /// Called before the MPI call. May replace an ignored status argument by a status of the library.
  /// Must not fail or communicate.
  template <class... Args>
  static void describe(MpiThread&, CallRecord&, Args&&...) noexcept {}
  /// Called after the MPI call, also if it failed.
  template <class... Args>
  static void complete(MpiThread&, CallRecord&, int, Args&&...) noexcept {}
};

/// first_of() returns the first argument, last_of() the last one, and argument() that at an index.
/// Arguments are selected by position, because their types may be equal: with MPICH all handles are
/// int.
template <class First, class... Rest>
[[gnu::always_inline]] inline First& first_of(First& first, Rest&...) noexcept {
  return first;
}
template <class First, class... Rest>
[[gnu::always_inline]] inline auto& last_of(First& first, Rest&... rest) noexcept {
  if constexpr (sizeof...(Rest) == 0)
    return first;
  else
    return last_of(rest...);
}
template <unsigned Index, class First, class... Rest>
[[gnu::always_inline]] inline auto& argument(First& first, Rest&... rest) noexcept {
  if constexpr (Index == 0)
    return first;
  else
    return argument<Index - 1>(rest...);
}

/// Call semantics of MPI function F; specialised in semantics/*.h for functions of which more than
/// entry and return is recorded.
template <Fn F>
struct Semantics : NoSemantics {
  static constexpr bool kSaysNothing = true;
};

/// Position of a call among the calls of its thread that have not returned.
struct Nesting {
  std::uintptr_t frame;
  std::uintptr_t outer_frame = 0;
  std::uint8_t outer_depth = 0;
};

/// Determines the depth of a call. Returns false if MPI itself made the call.
[[gnu::always_inline]] inline bool nest(MpiThread& thread, CallRecord& call, Nesting& nesting,
                                        const void* return_address) noexcept {
  if (thread.active_frame == 0) [[likely]]
    return true;
  if (!nest_slow_path(thread,
                      {call.is_silent ? Fn::kNone : call.fn, nesting.frame, return_address}))
    return false;
  nesting.outer_frame = thread.active_frame;
  nesting.outer_depth = thread.depth;
  call.depth = nesting.outer_depth < encoding::kDepthMask ? nesting.outer_depth
                                                          : encoding::kDepthMask;
  return true;
}
[[gnu::always_inline]] inline void enter_mpi(MpiThread& thread, const CallRecord& call,
                                             const Nesting& nesting) noexcept {
  thread.active_frame = nesting.frame;
  thread.depth = static_cast<std::uint8_t>(call.depth + 1);
}
/// Restores the state of the thread from before the call. Returns false in a child process that was
/// forked inside of the call.
[[gnu::always_inline]] inline bool leave_mpi(MpiThread& thread, const Nesting& nesting) noexcept {
  if (thread.buffer == nullptr) [[unlikely]]
    return false;
  thread.active_frame = nesting.outer_frame;
  thread.depth = nesting.outer_depth;
  return true;
}

/// Returns whether a call of F tracks handles only, because calls of F are not recorded now.
template <Fn F>
[[gnu::always_inline]] inline bool is_silent(const MpiThread& thread,
                                             Interface interface) noexcept {
  if constexpr (!tracks_handles(F)) return false;
  const std::uint8_t gate = thread.gate[static_cast<unsigned>(interface)];
  return (gate & g_selected[static_cast<unsigned>(F)] & kRecords) == 0;
}

/// The body of every C wrapper. The library's own code is noexcept. Exceptions of the application's
/// callbacks, cancellation and longjmp pass through the wrapper without running code of it. The
/// call then stays marked as open, with the address of a frame that no longer exists. The next call
/// of the thread recognises that by the address, and records that the earlier call did not return
/// (FactKind::kLeft).
template <Fn F, class Signature>
struct Wrapper;

template <Fn F, class Result, class... Args>
struct Wrapper<F, Result (*)(Args...)> {
  /// Decides whether the call is recorded and jumps to record() or to the PMPI entry point.
  /// record() is a separate function, so that calls that are not recorded do not set up its stack
  /// frame. The jump is a tail call, so that both functions see the caller's return address
  /// (wrappers are always optimised, see CMakeLists.txt).
  [[gnu::always_inline]] static Result call(Args... args) {
    const std::uint8_t selected = g_selected[static_cast<unsigned>(F)];
    const unsigned open = t_thread->gate[kInterface] & selected;
    if (open != 0) [[likely]] {
      if constexpr (may_repeat(F)) {
        if ((open & kRecords) != 0 && coalesced_polls::is_untimed<F>(*t_thread, args...))
          return poll(args...);
      }
      return record(args...);
    }
    if (selected == 0 || recorder() == nullptr) return pmpi<F>()(args...);
    return begin(args...);
  }

 private:
  static constexpr auto kInterface = static_cast<unsigned>(Interface::kC);

  /// Handles the thread's first call, and calls while recording is off.
  [[gnu::noinline]] static Result begin(Args... args) {
    if (!enter_slow_path(Interface::kC, g_selected[static_cast<unsigned>(F)]))
      return pmpi<F>()(args...);
    return record(args...);
  }

  /// An untimed call (coalesced_polls.h).
  [[gnu::noinline]] static Result poll(Args... args) {
    MpiThread& thread = *t_thread;
    const auto horizon = Polling<F>::prepare(thread, args...);
    thread.active_frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    thread.depth = 1;
    thread.buffer->pending().words[0] = thread.run.mark_word;
    const Result rc = pmpi<F>()(args...);
    if (!leave_mpi(thread, {.frame = 0})) return rc;
    if (Polling<F>::has_found(rc, args...) || !coalesced_polls::count(thread)) [[unlikely]]
      record_untimed(rc, horizon, args...);
    return rc;
  }

  /// Records an untimed call that found something, failed, or inside of which calls were recorded.
  [[gnu::noinline]] static void record_untimed(Result rc, std::uint32_t horizon, Args... args) {
    MpiThread& thread = *t_thread;
    const std::uint64_t leave_ticks = clock::ticks(thread.use_tsc);
    CallRecord call;
    call.fn = F;
    call.enter_ticks = thread.run.last_ticks;
    call.is_untimed = true;
    call.continues_run = thread.run.end == thread.buffer->cursor();
    Polling<F>::restore(thread, call, horizon, args...);
    Semantics<F>::complete(thread, call, rc, args...);
    coalesced_polls::settle_entry(thread, call, leave_ticks);
    write_or_begin<F>(thread, call, leave_ticks, rc);
  }

  [[gnu::noinline]] static Result record(Args... args) {
    MpiThread* thread = t_thread;
    Nesting nesting{.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))};
    CallRecord call;
    call.fn = F;
    call.is_silent = is_silent<F>(*thread, Interface::kC);
    if (!nest(*thread, call, nesting, __builtin_return_address(0))) [[unlikely]]
      return pmpi<F>()(args...);
    call.enter_ticks = clock::ticks(thread->use_tsc);
    Semantics<F>::describe(*thread, call, args...);
    if constexpr (may_repeat(F)) Polling<F>::identify(call, args...);
    look_at_run<F>(*thread, call, __builtin_return_address(0));
    if (call.depth == 0) mark(*thread->buffer, call);
    enter_mpi(*thread, call, nesting);
    const Result result = pmpi<F>()(args...);
    if (!leave_mpi(*thread, nesting)) return result;
    std::uint64_t leave_ticks = read_leave<F>(*thread, call);
    int rc = MPI_SUCCESS;
    if constexpr (!returns_value(F)) {
      rc = result;
      Semantics<F>::complete(*thread, call, rc, args...);
    }
    if (g_wants_call_sites) [[unlikely]]
      stage_call_site(*thread, __builtin_return_address(0));
    if (is_written_as_run<F>(*thread, call, leave_ticks, rc)) return result;
    if (call.is_silent) [[unlikely]] {
      thread->staged_words = 0;
      return result;
    }
    write_or_begin<F>(*thread, call, leave_ticks, rc);
    return result;
  }
};

}  // namespace megascope::mpi
