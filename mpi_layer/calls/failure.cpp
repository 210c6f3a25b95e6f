#include "mpi_layer/calls/failure.h"

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

namespace megascope::mpi {

int error_class_of(int rc) noexcept {
  int error_class = MPI_SUCCESS;
  if (rc != MPI_SUCCESS) pmpi<Fn::Error_class>()(rc, &error_class);
  return error_class;
}

void note_failure(MpiThread& thread, CallRecord& call, int error) noexcept {
  // A truncated receive has happened: its message remains, and so does the send of the same call.
  // Other facts did not happen.
  const bool is_receiving = call.main.kind == FactKind::kRecv ||
                            call.main.kind == FactKind::kSendrecv;
  if (!is_receiving || error_class_of(error) != MPI_ERR_TRUNCATE) call.main = call.second = {};
  stage(thread,
        {.kind = FactKind::kError,
         .bytes = static_cast<std::uint64_t>(static_cast<std::uint32_t>(recorded_error(error)))});
}

}  // namespace megascope::mpi
