#pragma once

#include "core/record/definitions.h"
#include "core/record/file_fact.h"
#include "mpi_layer/calls/call_record.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/lookup/abi.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// State of an open file. Created when the file is opened, or at first use if the open was not
/// recorded. Never freed. If MPI reuses the handle for another file, the new file gets another
/// state.
struct FileState {
  FileId id = kNoFile;
  CommId comm = kNoComm;               ///< communicator that opened it
  std::uint32_t collective_count = 0;  ///< number of collective calls on the file. By MPI's rules
                                       ///< only one thread at a time makes one
  /// The active split collective, at most one for each handle (MPI-4.1 §14.4.5). If its kind is
  /// kNone, there is no active one.
  Fact split;
  LocationId split_location = 0;
};

/// Changes when a handle is freed or assigned, which invalidates the caches of all threads.
extern std::atomic<std::uint64_t> g_file_generation;
FileState* file_state_slow_path(MpiThread& thread, MPI_File file) noexcept;

/// Returns the state of a known handle; nullptr for others. Makes no MPI call, because the handle
/// may be invalid. About 1 ns through the thread's cache.
[[gnu::always_inline]] inline FileState* file_state(MpiThread& thread, MPI_File file) noexcept {
  const std::uint64_t key = key_of(file);
  const ThreadCaches::FileSlot& slot = thread.caches
                                           .files[(key >> 4 ^ key >> 8) % ThreadCaches::kFileSlots];
  const bool is_current = thread.caches.file_generation ==
                          g_file_generation.load(std::memory_order_acquire);
  if (slot.key == key && is_current) [[likely]]
    return slot.state;
  return file_state_slow_path(thread, file);
}

/// Registers a file that a collective call on `comm` opened. The global name is derived from the
/// number of opens on `comm`, which is equal in all members. name: as the application passed it.
FileState* adopt_file(MPI_File file, CommState& comm, const char* name, int amode) noexcept;
/// Registers a file whose open was not recorded, because Fortran or a library that calls PMPI
/// opened it. file: a valid handle. Makes only local MPI calls. Returns nullptr for MPI_FILE_NULL.
FileState* adopt_unseen_file(MPI_File file) noexcept;
/// Removes the handle `key` from the table if it still refers to `closed`. It does not if MPI has
/// already assigned it to a new file in another thread.
void forget_file(std::uint64_t key, const FileState& closed) noexcept;
/// Returns the identifier for the name of a file that is not open.
FileId file_by_name(const char* name) noexcept;

}  // namespace megascope::mpi
