#pragma once

#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/call_sites.h"
#include "mpi_layer/fn.h"
#include "mpi_layer/selection.h"
#include "mpi_layer/spin.h"
#include "mpi_layer/thread.h"
#include "mpi_layer/twins.h"

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

namespace megascope::mpi {

/// What a call says beyond "it was called": nothing. One that says something has in kTells what,
/// for people: `megascope info` shows it, and a test compares it with what is recorded.
/// kNamesObject: it leaves arguments untold that mean something, and says what the call is about,
/// or how large what it made is.
struct NoMeaning {
  static constexpr std::string_view kTells = "";
  /// Before the call. May replace an ignored status by one of ours. Never fails, never
  /// communicates.
  template <class... Args>
  static void describe(MpiThread&, CallRecord&, Args&&...) noexcept {}
  /// After the call, whatever it returned.
  template <class... Args>
  static void complete(MpiThread&, CallRecord&, int, Args&&...) noexcept {}
};

/// The first, the last argument, and the one at an index. Not found by type: with MPICH all handles
/// are int.
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

/// Specialised for functions with more to say; meaning_*.h.
template <Fn F>
struct Meaning : NoMeaning {
  static constexpr bool kSaysNothing = true;
};

/// A failed call leaves no message, only its error code.
void note_failure(MpiThread& thread, CallRecord& call, int error) noexcept;

/// Where a call stands among those that have not returned.
struct Nesting {
  std::uintptr_t frame;
  std::uintptr_t outer_frame = 0;
  std::uint8_t outer_depth = 0;
};

/// false: the call is made by MPI itself. Else its depth is set.
[[gnu::always_inline]] inline bool nest(MpiThread& thread, CallRecord& call, Nesting& nesting,
                                        const void* return_address) noexcept {
  if (thread.active_frame == 0) [[likely]]
    return true;
  if (!nest_slowly(thread, {call.is_silent ? Fn::kNone : call.fn, nesting.frame, return_address}))
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
/// false: this is a child, forked inside the call.
[[gnu::always_inline]] inline bool leave_mpi(MpiThread& thread, const Nesting& nesting) noexcept {
  if (thread.buffer == nullptr) [[unlikely]]
    return false;
  thread.active_frame = nesting.outer_frame;
  thread.depth = nesting.outer_depth;
  return true;
}

/// Is this one of those that keep books, called while it is not recorded?
template <Fn F>
[[gnu::always_inline]] inline bool is_silent(const MpiThread& thread,
                                             Interface interface) noexcept {
  if constexpr (!keeps_books(F)) return false;
  const std::uint8_t gate = thread.gate[static_cast<unsigned>(interface)];
  return (gate & g_selected[static_cast<unsigned>(F)] & kRecords) == 0;
}

/// The body of every C wrapper. Our own steps are noexcept; what the application's callbacks throw,
/// and cancellation and longjmp, pass through: there is nothing to clean up here (no landing pad),
/// what is left behind is the mark of the call and a stale frame address, by which the next call
/// finds and records the one that was left.
template <Fn F, class Signature>
struct Wrapper;

template <Fn F, class Result, class... Args>
struct Wrapper<F, Result (*)(Args...)> {
  /// Decides, and jumps: the recording body is a function of its own, so that a call that is not
  /// recorded does not pay for its frame. Both have the caller's return address, because the jump
  /// is a tail call (wrappers are always optimised, see CMakeLists.txt).
  [[gnu::always_inline]] static Result call(Args... args) {
    const std::uint8_t selected = g_selected[static_cast<unsigned>(F)];
    if ((t_thread->gate[kInterface] & selected) != 0) [[likely]]
      return record(args...);
    if (selected == 0 || recorder() == nullptr) return twin<F>()(args...);
    return begin(args...);
  }

 private:
  static constexpr auto kInterface = static_cast<unsigned>(Interface::kC);

  /// The thread's first call, or one while recording is off.
  [[gnu::noinline]] static Result begin(Args... args) {
    if (!enter_slowly(Interface::kC, g_selected[static_cast<unsigned>(F)]))
      return twin<F>()(args...);
    return record(args...);
  }

  [[gnu::noinline]] static Result record(Args... args) {
    MpiThread* thread = t_thread;
    Nesting nesting{.frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))};
    CallRecord call;
    call.fn = F;
    call.is_silent = is_silent<F>(*thread, Interface::kC);
    if (!nest(*thread, call, nesting, __builtin_return_address(0))) [[unlikely]]
      return twin<F>()(args...);
    call.enter_ticks = clock::ticks(thread->use_tsc);
    Meaning<F>::describe(*thread, call, args...);
    look_at_run<F>(*thread, call, __builtin_return_address(0));
    if (call.depth == 0) mark(*thread->buffer, call);
    enter_mpi(*thread, call, nesting);
    const Result result = twin<F>()(args...);
    if (!leave_mpi(*thread, nesting)) return result;
    std::uint64_t leave_ticks = read_leave<F>(*thread, call);
    int rc = MPI_SUCCESS;
    if constexpr (!returns_value(F)) {
      rc = result;
      Meaning<F>::complete(*thread, call, rc, args...);
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
