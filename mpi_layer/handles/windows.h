#pragma once

#include "core/record/definitions.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/lookup/abi.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// State of a window. Created with the window or at first use, and never freed. If MPI reuses the
/// handle for another window, the new window gets another state.
struct WinState {
  WinId id = kNoWin;  ///< kNoWin: the communicator of the window could not be defined in the trace
  CommState* comm = nullptr;  ///< communicator on which the window was created. If the creation was
                              ///< not recorded: comm_of_unseen() of its group
  std::uint32_t
      collective_count = 0;  ///< number of calls of MPI_Win_fence and MPI_Win_free on the window.
                             ///< By MPI's rules only one thread at a time makes one
  std::atomic<GroupId> access_group{kNoGroup};    ///< group of the last MPI_Win_start
  std::atomic<GroupId> exposure_group{kNoGroup};  ///< group of the last MPI_Win_post
};

/// Changes when a handle is freed, which invalidates the caches of all threads.
extern std::atomic<std::uint64_t> g_window_generation;
WinState* window_state_slow_path(MpiThread& thread, MPI_Win window) noexcept;

/// Returns the state of a known handle; nullptr for others, including MPI_WIN_NULL. About 1 ns
/// through the thread's cache.
[[gnu::always_inline]] inline WinState* window_state(MpiThread& thread, MPI_Win window) noexcept {
  const std::uint64_t key = key_of(window);
  ThreadCaches::WinSlot& slot = thread.caches.windows[comm_slot(key) % ThreadCaches::kWindowSlots];
  if (slot.key == key && thread.caches.window_generation ==
                             g_window_generation.load(std::memory_order_relaxed)) [[likely]] {
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
/// Removes the handle `key` from the table if it still refers to `freed`. It does not if MPI has
/// already assigned it to a new window in another thread.
void forget_window(std::uint64_t key, const WinState& freed) noexcept;
void rename_window(const WinState& state, const char* name) noexcept;

/// Changes when a group is freed, because MPI may reuse its handle.
extern std::atomic<std::uint64_t> g_group_generation;
/// Returns the group's identifier in the trace, and defines it at first use; kNoGroup if a member
/// is not in this world.
GroupId group_id(MpiThread& thread, MPI_Group group) noexcept;

}  // namespace megascope::mpi
