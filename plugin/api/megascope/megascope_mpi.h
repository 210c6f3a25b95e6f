/** \file
 * Parallel groups from communicators. Compiled in programs only, so that neither libmegascope.so
 * nor the stub refers to MPI.
 */
#ifndef MEGASCOPE_MEGASCOPE_MPI_H
#define MEGASCOPE_MEGASCOPE_MPI_H

#include <mpi.h>

#include <megascope/megascope.h>

/** This process's place in a dimension of a parallel program (megascope_group_set): its rank in
 * `comm`, whose members differ in this dimension only. Local, not collective; its calls of MPI are
 * not recorded. MPI_COMM_NULL: -1, nothing is told. */
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
