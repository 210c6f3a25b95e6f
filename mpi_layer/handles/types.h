#pragma once

#include "mpi_layer/calls/thread.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace megascope::mpi {

/// Changes when a datatype is freed, because MPI may reuse its handle.
extern std::atomic<std::uint64_t> g_type_generation;
std::uint64_t type_size_slow_path(MpiThread& thread, MPI_Datatype type) noexcept;

/// Returns the size of one element in bytes (MPI_Type_size); 0 for the null type. About 1 ns
/// through the thread's cache.
[[gnu::always_inline]] inline std::uint64_t type_size(MpiThread& thread,
                                                      MPI_Datatype type) noexcept {
  const std::uint64_t key = key_of(type);
  const ThreadCaches::TypeSlot& slot = thread.caches
                                           .types[type_slot(key) % ThreadCaches::kHandleSlots];
  const bool is_current = thread.caches.type_generation ==
                          g_type_generation.load(std::memory_order_relaxed);
  if (slot.key == key && is_current) [[likely]]
    return slot.size_bytes;
  return type_size_slow_path(thread, type);
}

/// Returns count * size; 0 for a negative count, which is an error that MPI will report.
[[gnu::always_inline]] inline std::uint64_t payload_bytes(MpiThread& thread, int count,
                                                          MPI_Datatype type) noexcept {
  return count > 0 ? static_cast<std::uint64_t>(count) * type_size(thread, type) : 0;
}

}  // namespace megascope::mpi
