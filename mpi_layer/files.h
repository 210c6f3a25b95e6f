#pragma once

#include "core/record/definitions.h"
#include "core/record/file_fact.h"
#include "mpi_layer/abi.h"
#include "mpi_layer/call_record.h"
#include "mpi_layer/comms.h"
#include "mpi_layer/thread.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// What we know of an open file. Made when it is opened, or first used when that was not seen;
/// never freed: a handle may be used again for another file, which gets a state of its own.
struct FileState {
  FileId id = kNoFile;
  CommId comm = kNoComm;               ///< on which it was opened
  std::uint32_t collective_count = 0;  ///< collective calls on it so far; one thread at a time, by
                                       ///< MPI's rules
  /// The split collective in progress; at most one a handle, by MPI's rules (MPI-4.1 §14.4.5).
  /// kNone: none.
  Fact split;
  LocationId split_location = 0;
};

/// Moves when a handle has become free or was given out: what threads remember is void.
extern std::atomic<std::uint64_t> g_file_generation;
FileState* file_state_slowly(MpiThread& thread, MPI_File file) noexcept;

/// Of a handle that is known; nullptr for the others. Never asks MPI: the handle may be any. About
/// 1 ns through the thread's cache.
[[gnu::always_inline]] inline FileState* file_state(MpiThread& thread, MPI_File file) noexcept {
  const std::uint64_t key = key_of(file);
  const MpiThread::FileSlot& slot = thread.files[(key >> 4 ^ key >> 8) % MpiThread::kFileSlots];
  const bool is_current = thread.file_generation ==
                          g_file_generation.load(std::memory_order_acquire);
  if (slot.key == key && is_current) [[likely]]
    return slot.state;
  return file_state_slowly(thread, file);
}

/// Opened by a call collective over `comm`, which all members count alike. name: as the program
/// wrote it.
FileState* adopt_file(MPI_File file, CommState& comm, const char* name, int amode) noexcept;
/// A handle that MPI has just accepted and we have not seen: opened by Fortran, by a library that
/// calls PMPI. Described by local calls. nullptr for MPI_FILE_NULL.
FileState* adopt_unseen_file(MPI_File file) noexcept;
/// The handle of `closed` is free again; another thread may have got it for a new file already.
void forget_file(std::uint64_t key, const FileState& closed) noexcept;
/// The id that stands for the name of a file that is not open.
FileId file_by_name(const char* name) noexcept;

}  // namespace megascope::mpi
