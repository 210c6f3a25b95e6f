#pragma once

#include <mpi.h>

#include <cstdint>
#include <string_view>
#include <type_traits>

/// What depends on the MPI library's binary interface, in one place: predefined handles (which may
/// be data symbols that must not be referred to before they are known to exist), the hidden part of
/// a status, what error codes look like, which objects are MPI's. One source file a library.
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
  /// Requests of which MPI gives one handle to many completed operations: (key & shared_mask) ==
  /// shared_bits.
  std::uint64_t shared_mask;
  std::uint64_t shared_bits;
};
extern Handles g_handles;

/// false: not the library this was built for.
bool resolve_handles();
/// "Open MPI".
const char* built_for();
/// Is the loaded object with this file name (without its folder) part of the MPI library? What
/// calls MPI in there is MPI itself, not the application.
bool is_mpi_object(std::string_view name);

/// Bytes received, as MPI_Get_count in MPI_BYTE would say, without a call.
std::uint64_t received_bytes(const MPI_Status& status) noexcept;
/// The same of a receive that was truncated, into `room` bytes: the message's size, or what is
/// known of it.
std::uint64_t truncated_bytes(const MPI_Status& status, std::uint64_t room) noexcept;
/// Makes received_bytes() of it `bytes`.
void set_received_bytes(MPI_Status& status, std::uint64_t bytes) noexcept;
bool is_cancelled(const MPI_Status& status) noexcept;
/// An error code as it is told: the part that means the same in every run.
int told_error(int rc) noexcept;

/// A handle as a number: the key of our tables. Never 0 for a handle that MPI gave.
template <class Handle>
std::uint64_t key_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
  else
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(handle));
}
/// And back.
template <class Handle>
Handle handle_of(std::uint64_t key) noexcept {
  if constexpr (std::is_pointer_v<Handle>)
    return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(key));
  else
    return static_cast<Handle>(key);
}
/// The key without the low bits that are alike in all handles: addresses are multiples of 16,
/// numbers are not.
constexpr std::uint64_t distinct_bits(std::uint64_t key) noexcept {
  return std::is_pointer_v<MPI_Request> ? key >> 4 : key;
}
/// Places in small caches, to be taken modulo their size. Predefined datatypes lie 512 bytes apart,
/// or are numbered in sequence with their size above the number.
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
