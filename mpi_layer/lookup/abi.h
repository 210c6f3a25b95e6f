#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

/// Everything that depends on the binary interface of the MPI library: predefined handles (in some
/// libraries they are data symbols, which must not be referenced before they are known to exist),
/// hidden members of MPI_Status, error codes, and the names of the library's own objects. One
/// source file for each library.
namespace megascope::mpi {

/// Predefined handles. Valid after resolve_handles().
struct Handles {
  MPI_Comm comm_world;
  MPI_Comm comm_self;
  MPI_Comm comm_null;
  MPI_Request request_null;
  MPI_Datatype datatype_null;
  MPI_Datatype byte;
  MPI_Message message_null;
  MPI_Message message_no_proc;
  MPI_Group group_null;
  MPI_File file_null;
  MPI_Errhandler errors_return;
  MPI_Win win_null;
  MPI_Op op_no_op;
  MPI_Op op_band;
  /// Completed operations may share one request handle: (key & shared_mask) == shared_bits.
  std::uint64_t shared_mask;
  std::uint64_t shared_bits;
};
extern Handles g_handles;

/// Looks up the handles. Returns false if the loaded MPI library is not the one that MegaScope was
/// built for.
bool resolve_handles();
/// Returns the name of the MPI library that MegaScope was built for: "Open MPI".
const char* built_for();
/// Returns whether the loaded object with this file name (without directory) is part of the MPI
/// library. MPI itself, and not the application, makes the MPI calls from such an object.
bool is_mpi_object(std::string_view name);

/// Returns the bytes received, as MPI_Get_count for MPI_BYTE, without an MPI call.
std::uint64_t received_bytes(const MPI_Status& status) noexcept;
/// Returns the size of a truncated message that was received into `space` bytes, as far as the
/// status contains it.
std::uint64_t truncated_bytes(const MPI_Status& status, std::uint64_t space) noexcept;
/// Sets the count of a status, so that received_bytes() returns `bytes`.
void set_received_bytes(MPI_Status& status, std::uint64_t bytes) noexcept;
bool is_cancelled(const MPI_Status& status) noexcept;
/// Returns the part of an error code that has the same meaning in every run, for the trace.
int recorded_error(int rc) noexcept;

/// Returns a handle as a number, the key of the library's tables. Not 0 for a handle that MPI
/// returned.
template <class Handle>
std::uint64_t key_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  else
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(handle));
}
/// Returns the handle of a key.
template <class Handle>
Handle handle_of(std::uint64_t key) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(key));
  else
    return static_cast<Handle>(key);
}
/// Returns the key without low bits that are equal in all handles (addresses are multiples of 16).
constexpr std::uint64_t distinct_bits(std::uint64_t key) noexcept {
  return std::is_pointer_v<MPI_Request> ? key >> 4 : key;
}
/// Return a hash of a handle. The slot of the handle in a small cache is the hash modulo the size
/// of the cache. Predefined datatypes are 512 bytes apart, or numbered consecutively below their
/// size.
constexpr std::uint64_t comm_slot(std::uint64_t key) noexcept {
  return distinct_bits(key) ^ distinct_bits(key) >> 4;
}
constexpr std::uint64_t type_slot(std::uint64_t key) noexcept {
  return distinct_bits(key) ^ distinct_bits(key) >> (std::is_pointer_v<MPI_Datatype> ? 5 : 8);
}
inline bool is_shared(std::uint64_t key) noexcept {
  return (key & g_handles.shared_mask) == g_handles.shared_bits;
}

}  // namespace megascope::mpi
