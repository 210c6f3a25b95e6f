#include "mpi_layer/fortran/handles.h"

#include <algorithm>
#include <functional>
#include <string>

namespace megascope::mpi::fortran {

constinit Sentinels g_sentinels{};

namespace {

template <class Handle>
Handle remember(ThreadCaches::FortranSlot (&slots)[ThreadCaches::kHandleSlots], MPI_Fint number,
                Handle handle) noexcept {
  const auto plain = static_cast<std::uint32_t>(number);
  slots[plain % ThreadCaches::kHandleSlots] = {plain + 1, key_of(handle)};
  return handle;
}

void forget_all(ThreadCaches::FortranSlot (&slots)[ThreadCaches::kHandleSlots]) noexcept {
  for (ThreadCaches::FortranSlot& slot : slots) slot = {};
}

/// An address that no argument has, for a spelling that does not exist.
Sentinel::Addresses addresses_of(const char* lower, const char* upper) noexcept {
  static const char nowhere = 0;
  const std::string name(lower);
  const std::string names[] = {name + "_", name, name + "__", upper};
  Sentinel::Addresses addresses;
  for (unsigned i = 0; i < Sentinel::kSpellings; ++i) {
    const void* symbol = mpi_symbol(names[i].c_str());
    addresses[i] = symbol != nullptr ? symbol : &nowhere;
  }
  return addresses;
}

}  // namespace

MPI_Comm comm_of_slow_path(MpiThread& thread, MPI_Fint number) noexcept {
  const std::uint64_t generation = g_comm_generation.load(std::memory_order_relaxed);
  if (thread.caches.fortran_comm_generation != generation) forget_all(thread.caches.fortran_comms);
  thread.caches.fortran_comm_generation = generation;
  return remember(thread.caches.fortran_comms, number, mpi::pmpi<Fn::Comm_f2c>()(number));
}

MPI_Datatype type_of_slow_path(MpiThread& thread, MPI_Fint number) noexcept {
  const std::uint64_t generation = g_type_generation.load(std::memory_order_relaxed);
  if (thread.caches.fortran_type_generation != generation) forget_all(thread.caches.fortran_types);
  thread.caches.fortran_type_generation = generation;
  return remember(thread.caches.fortran_types, number, mpi::pmpi<Fn::Type_f2c>()(number));
}

MPI_Request request_of(MPI_Fint number) noexcept { return mpi::pmpi<Fn::Request_f2c>()(number); }
MPI_Message message_of(MPI_Fint number) noexcept { return mpi::pmpi<Fn::Message_f2c>()(number); }
MPI_Group group_of_number(MPI_Fint number) noexcept { return mpi::pmpi<Fn::Group_f2c>()(number); }
MPI_Win win_of(MPI_Fint number) noexcept { return mpi::pmpi<Fn::Win_f2c>()(number); }
MPI_File file_of(MPI_Fint number) noexcept { return mpi::pmpi<Fn::File_f2c>()(number); }

void Sentinel::assign(const Addresses& addresses) noexcept {
  spellings_ = addresses;
  const auto [lowest, highest] = std::minmax_element(addresses.begin(), addresses.end(),
                                                     std::less<>());
  first_ = reinterpret_cast<std::uintptr_t>(*lowest);
  span_ = reinterpret_cast<std::uintptr_t>(*highest) - first_;
}

void resolve_sentinels() noexcept {
  g_sentinels.in_place.assign(addresses_of("mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"));
  g_sentinels.status_ignore.assign(
      addresses_of("mpi_fortran_status_ignore", "MPI_FORTRAN_STATUS_IGNORE"));
  g_sentinels.statuses_ignore.assign(
      addresses_of("mpi_fortran_statuses_ignore", "MPI_FORTRAN_STATUSES_IGNORE"));
}

}  // namespace megascope::mpi::fortran
