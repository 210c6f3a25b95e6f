#include "mpi_layer/fortran/handles.h"

namespace megascope::mpi::fortran {

constinit Sentinels g_sentinels{};

namespace {

template <class Handle>
Handle remember(MpiThread::FortranSlot (&slots)[MpiThread::kCacheSlots], MPI_Fint number, Handle handle) noexcept {
  const auto plain = static_cast<std::uint32_t>(number);
  slots[plain % MpiThread::kCacheSlots] = {plain + 1, key_of(handle)};
  return handle;
}

void forget_all(MpiThread::FortranSlot (&slots)[MpiThread::kCacheSlots]) noexcept {
  for (MpiThread::FortranSlot& slot : slots) slot = {};
}

/// Addresses that no argument has, where a spelling is not there.
void resolve(const void* (&spellings)[Sentinels::kSpellings], const char* lower, const char* upper) noexcept {
  static const char nowhere = 0;
  const std::string name(lower);
  const std::string names[] = {name + "_", name, name + "__", upper};
  for (unsigned i = 0; i < Sentinels::kSpellings; ++i) {
    const void* symbol = mpi_symbol(names[i].c_str());
    spellings[i] = symbol != nullptr ? symbol : &nowhere;
  }
}

}  // namespace

MPI_Comm comm_of_slowly(MpiThread& thread, MPI_Fint number) noexcept {
  const std::uint64_t generation = g_comm_generation.load(std::memory_order_relaxed);
  if (thread.fortran_comm_generation != generation) forget_all(thread.fortran_comms);
  thread.fortran_comm_generation = generation;
  return remember(thread.fortran_comms, number, mpi::twin<Fn::Comm_f2c>()(number));
}

MPI_Datatype type_of_slowly(MpiThread& thread, MPI_Fint number) noexcept {
  const std::uint64_t generation = g_type_generation.load(std::memory_order_relaxed);
  if (thread.fortran_type_generation != generation) forget_all(thread.fortran_types);
  thread.fortran_type_generation = generation;
  return remember(thread.fortran_types, number, mpi::twin<Fn::Type_f2c>()(number));
}

MPI_Request request_of(MPI_Fint number) noexcept { return mpi::twin<Fn::Request_f2c>()(number); }
MPI_Message message_of(MPI_Fint number) noexcept { return mpi::twin<Fn::Message_f2c>()(number); }
MPI_Group group_of_number(MPI_Fint number) noexcept { return mpi::twin<Fn::Group_f2c>()(number); }
MPI_Win win_of(MPI_Fint number) noexcept { return mpi::twin<Fn::Win_f2c>()(number); }
MPI_File file_of(MPI_Fint number) noexcept { return mpi::twin<Fn::File_f2c>()(number); }

void resolve_sentinels() noexcept {
  resolve(g_sentinels.in_place, "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE");
  resolve(g_sentinels.status_ignore, "mpi_fortran_status_ignore", "MPI_FORTRAN_STATUS_IGNORE");
  resolve(g_sentinels.statuses_ignore, "mpi_fortran_statuses_ignore", "MPI_FORTRAN_STATUSES_IGNORE");
}

}  // namespace megascope::mpi::fortran
