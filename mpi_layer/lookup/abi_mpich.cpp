#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>
#include <string>

#ifndef MPICH
#error "this file is for MPICH"
#endif

namespace megascope::mpi {

Handles g_handles{};

namespace {

/// Handles are numbers: two bits for how the object is found, four for its kind, 26 for its index.
/// Requests that were complete when created have builtin numbers, one for each kind of operation.
constexpr std::uint32_t kHowAndKindMask = 0xFC000000;
constexpr std::uint32_t kBuiltinRequest = 0x6C000000;

/// Libraries with this binary interface (MPICH ABI initiative), by the beginning or content of
/// MPI_Get_library_version.
constexpr std::string_view kSameInterface[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation"};

}  // namespace

bool resolve_handles() {
  const std::string version = mpi_library_version();
  if (std::none_of(
          std::begin(kSameInterface), std::end(kSameInterface),
          [&](std::string_view name) { return version.find(name) != std::string::npos; })) {
    return false;
  }
  g_handles = {.comm_world = MPI_COMM_WORLD,
               .comm_self = MPI_COMM_SELF,
               .comm_null = MPI_COMM_NULL,
               .request_null = MPI_REQUEST_NULL,
               .datatype_null = MPI_DATATYPE_NULL,
               .byte = MPI_BYTE,
               .message_null = MPI_MESSAGE_NULL,
               .message_no_proc = MPI_MESSAGE_NO_PROC,
               .group_null = MPI_GROUP_NULL,
               .file_null = MPI_FILE_NULL,
               .errors_return = MPI_ERRORS_RETURN,
               .win_null = MPI_WIN_NULL,
               .op_no_op = MPI_NO_OP,
               .op_band = MPI_BAND,
               .shared_mask = kHowAndKindMask,
               .shared_bits = kBuiltinRequest};
  return true;
}

const char* built_for() { return "MPICH"; }

/// The Fortran bindings (libmpichfort) call the C functions for the application: they do not count
/// as MPI itself.
bool is_mpi_object(std::string_view name) {
  constexpr std::string_view kBindings[] = {"libmpichfort", "libmpichcxx", "libmpifort",
                                            "libmpicxx"};
  constexpr std::string_view kPrefixes[] = {"libmpi",    "libpmpi", "libucp", "libuct",
                                            "libfabric", "libpmi",  "libpsm2"};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::none_of(std::begin(kBindings), std::end(kBindings), begins) &&
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes), begins);
}

std::uint64_t received_bytes(const MPI_Status& status) noexcept {
  const auto high = static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1;
  return std::uint64_t{high} << 32 | static_cast<std::uint32_t>(status.count_lo);
}
/// The status of a truncated receive has values of an earlier use of the request.
std::uint64_t truncated_bytes(const MPI_Status&, std::uint64_t space) noexcept { return space; }
void set_received_bytes(MPI_Status& status, std::uint64_t bytes) noexcept {
  status.count_lo = static_cast<int>(bytes);
  status.count_hi_and_cancelled = static_cast<int>(bytes >> 32 << 1) |
                                  (status.count_hi_and_cancelled & 1);
}
bool is_cancelled(const MPI_Status& status) noexcept {
  return (status.count_hi_and_cancelled & 1) != 0;
}

/// The upper bits of a code number its message in a ring buffer; the lowest seven are the error
/// class.
int recorded_error(int rc) noexcept {
  int error_class = rc;
  pmpi<Fn::Error_class>()(rc, &error_class);
  return error_class;
}

}  // namespace megascope::mpi
