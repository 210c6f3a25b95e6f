#pragma once

#include "mpi_layer/calls/thread.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/types.h"
#include "mpi_layer/lookup/pmpi.h"

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

/// Converts Fortran handles, which are integers, to C. MPI-4.1 §19.3.4.
namespace megascope::mpi::fortran {

MPI_Comm comm_of_slow_path(MpiThread& thread, MPI_Fint number) noexcept;
MPI_Datatype type_of_slow_path(MpiThread& thread, MPI_Fint number) noexcept;

// Out of line: an MPI call in a function that does not throw would put a landing pad into the
// wrappers.
MPI_Request request_of(MPI_Fint number) noexcept;
MPI_Message message_of(MPI_Fint number) noexcept;
MPI_Group group_of_number(MPI_Fint number) noexcept;
MPI_Win win_of(MPI_Fint number) noexcept;
MPI_File file_of(MPI_Fint number) noexcept;

/// comm_of() and type_of() convert a handle through the thread's cache, in about 1 ns.
[[gnu::always_inline]] inline MPI_Comm comm_of(MpiThread& thread, MPI_Fint number) noexcept {
  const ThreadCaches::FortranSlot&
      slot = thread.caches
                 .fortran_comms[static_cast<std::uint32_t>(number) % ThreadCaches::kHandleSlots];
  const bool is_current = thread.caches.fortran_comm_generation ==
                          g_comm_generation.load(std::memory_order_relaxed);
  if (slot.number_plus_1 == static_cast<std::uint32_t>(number) + 1 && is_current) [[likely]] {
    return reinterpret_cast<MPI_Comm>(slot.handle);  // NOLINT(performance-no-int-to-ptr): a handle
  }
  return comm_of_slow_path(thread, number);
}
[[gnu::always_inline]] inline MPI_Datatype type_of(MpiThread& thread, MPI_Fint number) noexcept {
  const ThreadCaches::FortranSlot&
      slot = thread.caches
                 .fortran_types[static_cast<std::uint32_t>(number) % ThreadCaches::kHandleSlots];
  const bool is_current = thread.caches.fortran_type_generation ==
                          g_type_generation.load(std::memory_order_relaxed);
  if (slot.number_plus_1 == static_cast<std::uint32_t>(number) + 1 && is_current) [[likely]] {
    return reinterpret_cast<MPI_Datatype>(
        slot.handle);  // NOLINT(performance-no-int-to-ptr): a handle
  }
  return type_of_slow_path(thread, number);
}

template <class Handle>
inline constexpr bool kIsRead = std::is_same_v<Handle, MPI_Comm> ||
                                std::is_same_v<Handle, MPI_Datatype> ||
                                std::is_same_v<Handle, MPI_Request> ||
                                std::is_same_v<Handle, MPI_Message> ||
                                std::is_same_v<Handle, MPI_Group> ||
                                std::is_same_v<Handle, MPI_Win> || std::is_same_v<Handle, MPI_File>;
/// Handles that are not needed by the semantics.
template <class Handle>
inline constexpr bool kIsIgnored = std::is_same_v<Handle, MPI_Op> ||
                                   std::is_same_v<Handle, MPI_Info> ||
                                   std::is_same_v<Handle, MPI_Errhandler>;

template <class Handle>
[[gnu::always_inline]] inline Handle handle_of(MpiThread& thread, MPI_Fint number) noexcept {
  if constexpr (std::is_same_v<Handle, MPI_Comm>)
    return comm_of(thread, number);
  else if constexpr (std::is_same_v<Handle, MPI_Datatype>)
    return type_of(thread, number);
  else if constexpr (std::is_same_v<Handle, MPI_Request>)
    return request_of(number);
  else if constexpr (std::is_same_v<Handle, MPI_Message>)
    return message_of(number);
  else if constexpr (std::is_same_v<Handle, MPI_Group>)
    return group_of_number(number);
  else if constexpr (std::is_same_v<Handle, MPI_Win>)
    return win_of(number);
  else
    return file_of(number);
}

/// An array of handles, converted on access.
template <class Handle>
class HandleArray {
 public:
  HandleArray(MpiThread& thread, const void* numbers) noexcept
      : thread_(&thread), numbers_(static_cast<const MPI_Fint*>(numbers)) {}
  [[gnu::always_inline]] Handle operator[](std::size_t index) const noexcept {
    return handle_of<Handle>(*thread_, numbers_[index]);
  }
  bool operator==(std::nullptr_t) const noexcept { return numbers_ == nullptr; }

 private:
  MpiThread* thread_;
  const MPI_Fint* numbers_;
};

/// Addresses that stand for a Fortran constant. Each spelling of compilers (mpi_x_, mpi_x, mpi_x__,
/// MPI_X) is a variable of its own.
class Sentinel {
 public:
  /// Returns whether `address` stands for the constant. Takes three instructions for most other
  /// addresses.
  [[gnu::always_inline]] bool has(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - first_ <= span_ && is_one_of(address);
  }
  static constexpr unsigned kSpellings = 4;
  using Addresses = std::array<const void*, kSpellings>;
  void assign(const Addresses& addresses) noexcept;

 private:
  [[gnu::always_inline]] bool is_one_of(const void* address) const noexcept {
    return address == spellings_[0] || address == spellings_[1] || address == spellings_[2] ||
           address == spellings_[3];
  }

  std::uintptr_t first_ = 0;  ///< the lowest address
  std::uintptr_t span_ = 0;   ///< distance to the highest address
  Addresses spellings_{};
};
struct Sentinels {
  Sentinel in_place;
  Sentinel status_ignore;
  Sentinel statuses_ignore;
};
extern constinit Sentinels g_sentinels;  ///< resolved with the entry points
void resolve_sentinels() noexcept;

}  // namespace megascope::mpi::fortran
