#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/comms.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// What we know of a window. Made when it is created or first used, never freed: a handle may be
/// used again for another one, which gets a state of its own.
struct WinState {
  WinId id = kNoWin;          ///< kNoWin: its communicator is not described
  CommState* comm = nullptr;  ///< that it was made on; of an unseen window, one with its members
  std::uint32_t collective_count = 0;  ///< fences and MPI_Win_free so far; one thread at a time, by
                                       ///< MPI's rules
  std::atomic<GroupId> access_group{kNoGroup};    ///< of the last MPI_Win_start
  std::atomic<GroupId> exposure_group{kNoGroup};  ///< of the last MPI_Win_post
};

/// Moves when a handle has become free: what threads remember is void.
extern std::atomic<std::uint64_t> g_window_generation;
WinState* window_state_slowly(MpiThread& thread, MPI_Win window) noexcept;

/// Of a handle that is known; nullptr for all others, MPI_WIN_NULL included. About 1 ns through the
/// thread's cache.
[[gnu::always_inline]] inline WinState* window_state(MpiThread& thread, MPI_Win window) noexcept {
  const std::uint64_t key = key_of(window);
  MpiThread::WinSlot& slot = thread.windows[comm_slot(key) % MpiThread::kWindowSlots];
  if (slot.key == key &&
      thread.window_generation == g_window_generation.load(std::memory_order_relaxed)) [[likely]] {
    return slot.state;
  }
  return window_state_slowly(thread, window);
}

/// How a window was made.
struct WindowMaking {
  const char* function = "";  ///< "MPI_Win_create"
  WindowFlavor flavor = WindowFlavor::kCreate;
  std::uint64_t size_bytes = 0;
  std::uint32_t displacement_bytes = 1;
};

/// Registers a window that was just made on `comm`. ordinal: windows made on it before, the same in
/// all members.
WinState* adopt_window(MPI_Win window, CommState& comm, std::uint32_t ordinal,
                       const WindowMaking& making) noexcept;
/// A window made out of our sight, by Fortran or a library that calls PMPI: described by local
/// calls, after a call on it has succeeded. nullptr for MPI_WIN_NULL and what MPI does not know.
WinState* learn_window(MPI_Win window) noexcept;
/// The handle of `freed` is free again; another thread may have got it for a new window already.
void forget_window(std::uint64_t key, const WinState& freed) noexcept;
void rename_window(const WinState& state, const char* name) noexcept;

/// Moves when a group was freed: its handle may come back as another group.
extern std::atomic<std::uint64_t> g_group_generation;
/// The group's number in the trace, which it defines at first sight; kNoGroup when a member is not
/// in this world.
GroupId group_id(MpiThread& thread, MPI_Group group) noexcept;

}  // namespace megascope::mpi
