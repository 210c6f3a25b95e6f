#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/lookup/abi.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// State of a window. Created with the window or at first use, never freed. If MPI reuses the
/// handle for another window, that gets a state of its own.
struct WinState {
  WinId id = kNoWin;          ///< kNoWin: its communicator is not described
  CommState* comm = nullptr;  ///< communicator it was created on; for a window created unseen, one
                              ///< with its members
  std::uint32_t collective_count = 0;  ///< fences and MPI_Win_free so far; one thread at a time, by
                                       ///< MPI's rules
  std::atomic<GroupId> access_group{kNoGroup};    ///< of the last MPI_Win_start
  std::atomic<GroupId> exposure_group{kNoGroup};  ///< of the last MPI_Win_post
};

/// Changes when a handle is freed, which invalidates the caches of all threads.
extern std::atomic<std::uint64_t> g_window_generation;
WinState* window_state_slow_path(MpiThread& thread, MPI_Win window) noexcept;

/// Returns the state of a known handle; nullptr for others, including MPI_WIN_NULL. About 1 ns
/// through the thread's cache.
[[gnu::always_inline]] inline WinState* window_state(MpiThread& thread, MPI_Win window) noexcept {
  const std::uint64_t key = key_of(window);
  MpiThread::WinSlot& slot = thread.windows[comm_slot(key) % MpiThread::kWindowSlots];
  if (slot.key == key &&
      thread.window_generation == g_window_generation.load(std::memory_order_relaxed)) [[likely]] {
    return slot.state;
  }
  return window_state_slow_path(thread, window);
}

/// How a window was created.
struct WindowMaking {
  const char* function = "";  ///< "MPI_Win_create"
  WindowFlavor flavor = WindowFlavor::kCreate;
  std::uint64_t size_bytes = 0;
  std::uint32_t displacement_bytes = 1;
};

/// Registers a window just created on `comm`. ordinal: number of windows created on it before,
/// equal in all members.
WinState* adopt_window(MPI_Win window, CommState& comm, std::uint32_t ordinal,
                       const WindowMaking& making) noexcept;
/// Registers a window whose creation was not recorded, because Fortran or a library that calls PMPI
/// created it. Makes only local MPI calls. Call after a call on the window has succeeded, so that
/// the handle is valid. Returns nullptr for MPI_WIN_NULL, if MPI reports no group for the handle,
/// or if memory runs out (counted).
WinState* learn_window(MPI_Win window) noexcept;
/// Removes the handle of `freed` from the table, unless another thread has got it for a new window
/// already.
void forget_window(std::uint64_t key, const WinState& freed) noexcept;
void rename_window(const WinState& state, const char* name) noexcept;

/// Changes when a group is freed, because MPI may reuse its handle.
extern std::atomic<std::uint64_t> g_group_generation;
/// Returns the group's identifier in the trace, and defines it at first use; kNoGroup if a member
/// is not in this world.
GroupId group_id(MpiThread& thread, MPI_Group group) noexcept;

}  // namespace megascope::mpi
