/** \file
 * Parallel groups from communicators. Header-only: it is compiled into the application, so that
 * neither libmegascope.so nor libmegascope_hooks.a refers to MPI.
 */
#ifndef MEGASCOPE_MEGASCOPE_MPI_H
#define MEGASCOPE_MEGASCOPE_MPI_H

#include <mpi.h>

#include <megascope/megascope.h>

/** Sets the grid coordinate of this process in the dimension `name` to its rank in `comm`, as
 * megascope_group_set() does. comm: an intracommunicator whose members differ in this dimension
 * only. Local, not collective. Its MPI calls are PMPI calls and are not recorded. Returns 0; -1 for
 * MPI_COMM_NULL, before MPI_Init, after MPI_Finalize, if an MPI call fails or if
 * megascope_group_set() fails. */
static inline int megascope_group_comm(const char* name, MPI_Comm comm) {
  int is_initialized = 0;
  int is_finalized = 0;
  int rank = 0;
  int size = 0;
  if (PMPI_Initialized(&is_initialized) != MPI_SUCCESS ||
      PMPI_Finalized(&is_finalized) != MPI_SUCCESS)
    return -1;
  if (!is_initialized || is_finalized || comm == MPI_COMM_NULL) return -1;
  if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(comm, &size) != MPI_SUCCESS)
    return -1;
  return megascope_group_set(name, rank, size);
}

#endif
