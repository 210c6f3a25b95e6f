#include "mpi_layer/handles/types.h"

namespace megascope::mpi {

std::atomic<std::uint64_t> g_type_generation{1};

std::uint64_t type_size_slow_path(MpiThread& thread, MPI_Datatype type) noexcept {
  // MPI would call an error handler.
  if (type == g_handles.datatype_null || type == MPI_Datatype{}) return 0;
  const std::uint64_t generation = g_type_generation.load(std::memory_order_relaxed);
  if (thread.caches.type_generation != generation) {
    for (ThreadCaches::TypeSlot& slot : thread.caches.types) slot = {};
    thread.caches.type_generation = generation;
  }
  MPI_Count size = 0;
  pmpi<Fn::Type_size_x>()(type, &size);
  const std::uint64_t size_bytes = size > 0 ? static_cast<std::uint64_t>(size) : 0;
  const std::uint64_t key = key_of(type);
  thread.caches.types[type_slot(key) % ThreadCaches::kHandleSlots] = {key, size_bytes};
  return size_bytes;
}

}  // namespace megascope::mpi
