#pragma once

#include "core/buffer/recorder.h"
#include "mpi_layer/calls/thread_caches.h"
#include "mpi_layer/table/fn.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// Saved arguments of a call on an array of requests: the handles, which MPI overwrites, and
/// statuses in place of MPI_STATUSES_IGNORE.
struct RequestArrays {
  std::uint32_t capacity;
  MPI_Request* requests;
  MPI_Status* statuses;
};

/// State of one thread in the wrappers. It is in memory that is zeroed in a forked child, so that
/// every gate is 0 and the child records nothing. Used by the owning thread only, except `gate`,
/// which other threads clear at the end of recording and MPI_Pcontrol changes.
struct MpiThread {
  std::uint8_t
      gate[kInterfaceCount];  ///< calls that are intercepted, as bits (selection.h); 0: no calls
  bool use_tsc;
  bool is_initialized;          ///< false in a forked child
  std::uint8_t depth;           ///< number of recorded calls that have not returned
  std::uintptr_t active_frame;  ///< stack address of the innermost wrapper that is in MPI; 0: none.
                                ///< Stale after a call that was left by an exception or jump
  EventBuffer* buffer;
  std::uint64_t busy_ticks;           ///< time in recorded calls so far
  std::uint64_t next_progress_ticks;  ///< time of the next progress tick, which runs after the
                                      ///< first call that returns later; largest number: never
  std::uint64_t
      next_rank_update_ticks;  ///< time of the next progress of rank updates (progress_ticks.h)
  std::uint64_t next_reading_ticks;
  bool reads_at_entry;  ///< the next intercepted call begins with a CPU reading; gates are closed
                        ///< until then
  std::uint8_t interfaces_noted;  ///< bits as in Recorder::note_interface
  ThreadCaches caches;

  static constexpr unsigned kDepths = encoding::kDepthMask + 1;
  /// A recorded call inside of another call that has not returned. open[] is indexed by depth. The
  /// call of depth 0 is in the buffer's mark instead.
  struct OpenCall {
    std::uintptr_t outer_frame;
    std::uint64_t enter_ticks;
    Fn fn;
  };
  OpenCall open[kDepths];
  MPI_Status status[kDepths];  ///< statuses that replace MPI_STATUS_IGNORE, by depth of the call
  RequestArrays
      arrays[kDepths];  ///< saved arguments of calls on request arrays, by depth of the call. Not
                        ///< used at the largest depth, which several calls may have

  /// The thread's sequence of coalesced polls (coalesced_polls.h). If fn is kNone, there is no
  /// sequence. `fact` contains the number of calls if there are two or more, and the time in them.
  struct Run {
    Fn fn;
    std::uint32_t untimed;  ///< number of further calls that are not timed, before the next reading
    std::uint32_t planned;  ///< value of `untimed` at the last reading
    std::uint32_t reading_count;
    std::uint64_t key;           ///< request or communicator
    std::uint64_t poll_key;      ///< what Polling<fn>::continues() compares
    std::uint64_t probed;        ///< probes: source and tag that the last timed call searched for
    std::uint64_t last_ticks;    ///< last reading of the clock: the return of a call
    std::uint64_t dense_count;   ///< number of calls since the last gap
    std::uint64_t period_ticks;  ///< time from call to call before the last reading
    encoding::Word mark_word;    ///< word 0 of the mark while an untimed call is in MPI
    encoding::Word* call;        ///< the record; valid while end is the buffer's cursor
    encoding::Word* fact;        ///< null while there is one call
    encoding::Word* end;
    encoding::Word first_word;  ///< word 0 of the record. If the mark of the pending call has this
                                ///< word, all calls of the sequence have returned
    std::uint64_t enter_ticks;
    std::uint64_t typical_ticks;  ///< time in MPI of the last timed call
  };
  Run run;
  std::uint64_t ticks_per_us;  ///< 0: not known yet
  std::uint64_t timed_polls;   ///< number of polls after a gap that are timed

  // Encoded facts of the call that is being recorded.
  std::uint32_t staged_words;
  std::uint32_t short_end;  ///< staged_words after the last short fact
  std::uint32_t staged_capacity;
  encoding::Word* staged;
};

/// State of the calling thread. If the thread has no state, points to an object with closed gates
/// that threads share.
extern constinit thread_local MpiThread* t_thread;

/// Starts recording for all threads, from MPI_Init's wrapper on. recorder: must exist until the
/// process ends.
void open_recording(Recorder& recorder, bool is_multithreaded);
/// Ends recording for all threads, for good.
void close_recording() noexcept;
/// Sets what all threads record: kRecords | kTracking, or kTracking only while MPI_Pcontrol has
/// stopped recording.
void set_gates(std::uint8_t gate) noexcept;
/// A hooks::WindowFollower. Selects whether records are kept in the trace from now on. Each thread
/// changes at its next call, according to hooks::is_kept().
void follow_window(bool is_kept) noexcept;
/// The recorder; nullptr while nothing is recorded.
extern constinit std::atomic<Recorder*> g_recorder;
inline Recorder* recorder() noexcept { return g_recorder.load(std::memory_order_acquire); }
/// Returns whether this process was forked by the process that records. The recorder's memory is
/// not mapped here.
bool is_forked_child() noexcept;
/// Whether several threads may be in MPI at once (MPI_THREAD_MULTIPLE), so that the tables need
/// locks.
extern bool g_is_multithreaded;
inline bool is_multithreaded() noexcept { return g_is_multithreaded; }

/// The slow path at the entry of a wrapper. Creates the thread's state if needed. selected: the
/// function's entry in g_selected. Returns false if this call is not intercepted.
bool enter_slow_path(Interface interface, std::uint8_t selected) noexcept;

/// A call made while a recorded call has not returned.
struct NestedCall {
  Fn fn;  ///< kNone: not recorded
  std::uintptr_t frame;
  const void* return_address;
};
/// Handles a call that begins while thread.active_frame is set. If a callback of the application
/// makes it inside of a recorded call, enters it in thread.open at depth thread.depth. If an
/// exception or jump has left earlier calls, first records that these did not return. Returns false
/// if MPI itself makes the call. Walks the stack, which takes microseconds.
bool nest_slow_path(MpiThread& thread, const NestedCall& call) noexcept;

/// Returns whether `return_address` is in the code of the MPI library, of a component that it
/// loads, or of this library, so that the call that returns there was not made by the application.
/// Returns false before learn_mpi_code(). Call only in a nested call, that is, an MPI call made
/// while another one of the same thread has not returned.
bool is_mpi_code(const void* return_address) noexcept;
/// Collects the code ranges of MPI. Call after PMPI_Init, which loads the components.
void learn_mpi_code();

/// Returns space for `count` requests and statuses of a call of this depth; nullptr if memory ran
/// out or the call is nested too deeply (counted).
RequestArrays* claim_arrays_slow_path(MpiThread& thread, std::uint8_t depth, int count) noexcept;
[[gnu::always_inline]] inline RequestArrays* claim_arrays(MpiThread& thread, std::uint8_t depth,
                                                          int count) noexcept {
  RequestArrays& arrays = thread.arrays[depth];
  const bool has_space = count >= 0 && static_cast<std::uint32_t>(count) <= arrays.capacity;
  return has_space ? &arrays : claim_arrays_slow_path(thread, depth, count);
}

/// Appends a fact to the call being recorded.
void stage(MpiThread& thread, const Fact& fact) noexcept;
/// Appends a fact that has only a kind and a request. Consecutive requests take one word.
[[gnu::always_inline]] inline void stage_short(MpiThread& thread, FactKind kind,
                                               RequestId request) noexcept {
  const std::uint32_t end = thread.staged_words;
  if (end != 0 && thread.short_end == end &&
      encoding::continues(thread.staged[end - 1], kind, request)) {
    thread.staged[end - 1] += encoding::Word{1} << 24;
    return;
  }
  stage(thread, {.kind = kind, .request = request});
  thread.short_end = thread.staged_words;
}

}  // namespace megascope::mpi
