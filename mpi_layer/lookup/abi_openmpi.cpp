#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>

#ifndef OPEN_MPI
#error "this file is for Open MPI"
#endif

namespace megascope::mpi {

Handles g_handles{};

namespace {

template <class Handle>
bool resolve(const char* symbol, Handle& handle) {
  handle = static_cast<Handle>(mpi_symbol(symbol));
  return handle != nullptr;
}

}  // namespace

bool resolve_handles() {
  Handles& to = g_handles;
  bool is_complete = resolve("ompi_mpi_comm_world", to.comm_world);
  is_complete = resolve("ompi_mpi_comm_self", to.comm_self) && is_complete;
  is_complete = resolve("ompi_mpi_comm_null", to.comm_null) && is_complete;
  is_complete = resolve("ompi_request_null", to.request_null) && is_complete;
  is_complete = resolve("ompi_mpi_datatype_null", to.datatype_null) && is_complete;
  is_complete = resolve("ompi_mpi_byte", to.byte) && is_complete;
  is_complete = resolve("ompi_message_null", to.message_null) && is_complete;
  is_complete = resolve("ompi_message_no_proc", to.message_no_proc) && is_complete;
  is_complete = resolve("ompi_mpi_group_null", to.group_null) && is_complete;
  is_complete = resolve("ompi_mpi_file_null", to.file_null) && is_complete;
  is_complete = resolve("ompi_mpi_errors_return", to.errors_return) && is_complete;
  is_complete = resolve("ompi_mpi_win_null", to.win_null) && is_complete;
  is_complete = resolve("ompi_mpi_op_no_op", to.op_no_op) && is_complete;
  is_complete = resolve("ompi_mpi_op_band", to.op_band) && is_complete;
  MPI_Request shared = to.request_null;  // of operations that were complete at once
  if (!resolve("ompi_request_empty", shared)) shared = to.request_null;
  to.shared_mask = ~std::uint64_t{0};
  to.shared_bits = key_of(shared);
  return is_complete;
}

const char* built_for() { return "Open MPI"; }

bool is_mpi_object(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"libmpi",   "libopen-", "mca_",     "libpmix",
                                            "libpmpi",  "libmca_",  "libucp",   "libuct",
                                            "libhcoll", "libpsm2",  "libfabric"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::uint64_t received_bytes(const MPI_Status& status) noexcept { return status._ucount; }
std::uint64_t truncated_bytes(const MPI_Status& status, std::uint64_t) noexcept {
  return received_bytes(status);
}
void set_received_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  status._ucount = bytes;
}
bool is_cancelled(const MPI_Status& status) noexcept { return status._cancelled != 0; }
int recorded_error(int rc) noexcept { return rc; }

}  // namespace megascope::mpi
