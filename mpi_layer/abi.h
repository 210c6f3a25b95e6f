#pragma once

#include <mpi.h>

#include <cstdint>

/// What depends on the MPI library's binary interface, in one place: predefined handles (data symbols that must not be
/// referred to before they are known to exist) and the hidden part of a status. One source file a library.
namespace megascope::mpi {

/// Predefined handles. Valid after resolve_handles().
struct Handles {
  MPI_Comm comm_world;
  MPI_Comm comm_self;
  MPI_Comm comm_null;
  MPI_Request request_null;
  MPI_Request request_shared;   ///< the one request that many completed operations share, or request_null
  MPI_Datatype datatype_null;
  MPI_Datatype byte;
  MPI_Message message_null;
  MPI_Message message_no_proc;
  MPI_Group group_null;
  MPI_File file_null;
  MPI_Errhandler errors_return;
  MPI_Win win_null;
  MPI_Op op_no_op;
};
extern Handles g_handles;

/// false: not the library this was built for.
bool resolve_handles();
/// "Open MPI".
const char* built_for();

/// Bytes received, as MPI_Get_count in MPI_BYTE would say, without a call.
std::uint64_t received_bytes(const MPI_Status& status) noexcept;
/// Makes received_bytes() of it `bytes`.
void set_received_bytes(MPI_Status& status, std::uint64_t bytes) noexcept;
bool is_cancelled(const MPI_Status& status) noexcept;

/// A handle as a number: the key of our tables.
template <class Handle>
std::uint64_t key_of(Handle handle) noexcept {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(handle));
}

}  // namespace megascope::mpi
