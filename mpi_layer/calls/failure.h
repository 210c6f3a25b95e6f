#pragma once

#include "mpi_layer/calls/call_record.h"

namespace megascope::mpi {

/// Returns the error class of an MPI error code; MPI_SUCCESS for MPI_SUCCESS.
int error_class_of(int rc) noexcept;

/// Replaces the facts of a failed call by its error code.
void note_failure(MpiThread& thread, CallRecord& call, int error) noexcept;

}  // namespace megascope::mpi
