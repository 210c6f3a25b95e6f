#pragma once

#include "core/buffer/recorder.h"
#include "mpi_layer/fn.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

struct CommState;
struct FileState;
struct WinState;

/// What a call over an array of requests keeps: the handles, which MPI overwrites, and statuses in
/// place of MPI_STATUSES_IGNORE.
struct RequestArrays {
  std::uint32_t capacity;
  MPI_Request* requests;
  MPI_Status* statuses;
};

/// What one thread needs in wrappers. Lies in memory that a forked child sees zeroed: there every
/// gate is 0 and nothing is recorded. The owning thread alone uses it, except for `gate`, which the
/// end of recording clears from outside, and MPI_Pcontrol changes.
struct MpiThread {
  std::uint8_t gate[kInterfaceCount];  ///< what is looked at (selection.h); 0: nothing
  bool use_tsc;
  bool is_initialized;          ///< false in a forked child
  std::uint8_t depth;           ///< of calls recorded and not returned
  std::uintptr_t active_frame;  ///< stack address of the innermost wrapper that is in MPI; 0: none.
                                ///< Stale after a call that was left
  EventBuffer* buffer;
  std::uint64_t busy_ticks;         ///< in recorded calls so far
  std::uint64_t next_pulse_ticks;   ///< a pulse is due after the first call that returns then; the
                                    ///< greatest number: never
  std::uint64_t next_letter_ticks;  ///< what the pulse is for (pulses.h)
  std::uint64_t next_reading_ticks;
  bool reads_at_entry;  ///< the next call that is looked at begins with a reading of the CPU time;
                        ///< gates are closed until then
  std::uint8_t interfaces_noted;  ///< bits, as Recorder::note_interface
  std::uint64_t comm_generation;
  std::uint64_t type_generation;
  std::uint64_t file_generation;

  static constexpr unsigned kCacheSlots = 16;
  struct CommSlot {
    std::uint64_t key;
    CommState* state;
  };
  struct TypeSlot {
    std::uint64_t key;
    std::uint64_t size_bytes;
  };
  struct FileSlot {
    std::uint64_t key;
    FileState* state;
  };
  /// Of Fortran's numbers for communicators and datatypes.
  struct FortranSlot {
    std::uint32_t number_plus_1;  ///< 0: none
    std::uint64_t handle;
  };
  static constexpr unsigned kFileSlots = 4;
  /// Of return addresses (call_sites.h).
  struct SiteSlot {
    std::uintptr_t address;
    std::uint32_t id;
  };
  static constexpr unsigned kSiteSlots = 64;
  SiteSlot sites[kSiteSlots];
  CommSlot comms[kCacheSlots];
  TypeSlot types[kCacheSlots];
  FileSlot files[kFileSlots];
  std::uint64_t fortran_comm_generation;
  std::uint64_t fortran_type_generation;
  FortranSlot fortran_comms[kCacheSlots];
  FortranSlot fortran_types[kCacheSlots];

  static constexpr unsigned kWindowSlots = 8;
  struct WinSlot {
    std::uint64_t key;
    WinState* state;
  };
  struct GroupSlot {
    std::uint64_t key;
    std::uint64_t generation;
    GroupId id;
  };
  std::uint64_t window_generation;
  WinSlot windows[kWindowSlots];
  GroupSlot group;  ///< the last one that a synchronisation named

  static constexpr unsigned kDepths = encoding::kDepthMask + 1;
  /// Of calls recorded inside of others and not returned, by depth; that of depth 0 is the buffer's
  /// mark.
  struct OpenCall {
    std::uintptr_t outer_frame;
    std::uint64_t enter_ticks;
    Fn fn;
  };
  OpenCall open[kDepths];
  MPI_Status status[kDepths];     ///< instead of MPI_STATUS_IGNORE, by the call's depth
  RequestArrays arrays[kDepths];  ///< the same for calls over arrays; of the greatest depth, which
                                  ///< may be several, none

  /// Calls in a row that found nothing (spin.h); fn kNone: none. Its number of calls is in `fact`,
  /// once there is one.
  struct Run {
    Fn fn;
    std::uint32_t
        unmeasured;        ///< so many more may return before the time of a return is read again
    std::uint64_t key;     ///< request or communicator
    encoding::Word* call;  ///< where the record lies; valid while end is the buffer's cursor
    encoding::Word* fact;  ///< null while there is one call
    encoding::Word* end;
    encoding::Word first_word;  ///< of the record; in the mark: the calls so far have returned
    std::uint64_t enter_ticks;
    std::uint64_t busy_ticks;     ///< in the calls
    std::uint64_t typical_ticks;  ///< of one call, the last that was measured
  };
  Run run;

  // Facts of the call being recorded, encoded.
  std::uint32_t staged_words;
  std::uint32_t short_end;  ///< staged_words after the last one that is a short fact
  std::uint32_t staged_capacity;
  encoding::Word* staged;
};

/// The calling thread's state; of a thread without one, a shared one whose gate is closed.
extern constinit thread_local MpiThread* t_thread;

/// Opens recording for all threads, from MPI_Init's wrapper on. recorder outlives the process.
void open_recording(Recorder& recorder, bool is_multithreaded);
/// Closes it for all threads, for good.
void close_recording() noexcept;
/// What is recorded from now on, in all threads: kRecords | kBooks, or kBooks alone while
/// MPI_Pcontrol has stopped it.
void set_gates(std::uint8_t gate) noexcept;
/// Records are kept from now on, or not (hooks::WindowFollower): each thread does so at its next
/// call, which looks at hooks::is_kept().
void follow_window(bool is_kept) noexcept;
/// nullptr when not recording.
extern constinit std::atomic<Recorder*> g_recorder;
inline Recorder* recorder() noexcept { return g_recorder.load(std::memory_order_acquire); }
/// Is this a child forked by the process that records? What the recorder points to is not mapped
/// there.
bool is_forked_child() noexcept;
/// Threads may be in MPI at the same time (MPI_THREAD_MULTIPLE): our tables need locks.
extern bool g_is_multithreaded;
inline bool is_multithreaded() noexcept { return g_is_multithreaded; }

/// The slow way into a wrapper: makes the thread's state where it has none. selected: of the
/// function, in g_selected. false: this call is not looked at.
bool enter_slowly(Interface interface, std::uint8_t selected) noexcept;

/// Of a call made while a recorded one has not returned.
struct NestedCall {
  Fn fn;  ///< kNone: it is not to be recorded
  std::uintptr_t frame;
  const void* return_address;
};
/// Is it made inside of a recorded one, from a callback? Then it is noted as open, at depth
/// thread.depth. Records calls that were left before. false: it is made by MPI itself. Looks at the
/// stack: microseconds.
bool nest_slowly(MpiThread& thread, const NestedCall& call) noexcept;

/// Was the call made from inside the MPI library, one of its components, or us? For nested calls
/// only.
bool is_mpi_code(const void* return_address) noexcept;
/// Learns which code is MPI's. After PMPI_Init, which loads the components.
void learn_mpi_code();

/// Room for `count` requests and statuses of a call of this depth; nullptr: no memory, or nested
/// too deeply (counted).
RequestArrays* claim_arrays_slowly(MpiThread& thread, std::uint8_t depth, int count) noexcept;
[[gnu::always_inline]] inline RequestArrays* claim_arrays(MpiThread& thread, std::uint8_t depth,
                                                          int count) noexcept {
  RequestArrays& arrays = thread.arrays[depth];
  const bool has_room = count >= 0 && static_cast<std::uint32_t>(count) <= arrays.capacity;
  return has_room ? &arrays : claim_arrays_slowly(thread, depth, count);
}

/// Appends a fact behind the call being recorded.
void stage(MpiThread& thread, const Fact& fact) noexcept;
/// The same for a fact of which only kind and request are to be told. Requests in a row take one
/// word.
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
