#pragma once

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

namespace megascope::mpi {

/// For a scope, errors on MPI_COMM_WORLD and in calls without a communicator (datatypes, operators)
/// are returned to the library instead of calling the application's error handler. Only while no
/// other thread can be in MPI: in MPI_Init and MPI_Finalize.
class OwnErrors {
 public:
  OwnErrors() {
    is_set_ = pmpi<Fn::Comm_get_errhandler>()(g_handles.comm_world, &theirs_) == MPI_SUCCESS &&
              pmpi<Fn::Comm_set_errhandler>()(g_handles.comm_world, g_handles.errors_return) ==
                  MPI_SUCCESS;
  }
  ~OwnErrors() {
    if (!is_set_) return;
    pmpi<Fn::Comm_set_errhandler>()(g_handles.comm_world, theirs_);
    pmpi<Fn::Errhandler_free>()(&theirs_);
  }
  OwnErrors(const OwnErrors&) = delete;
  OwnErrors& operator=(const OwnErrors&) = delete;

 private:
  MPI_Errhandler theirs_{};
  bool is_set_ = false;
};

}  // namespace megascope::mpi
