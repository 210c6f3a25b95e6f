#include <mpi.h>

#include <stdio.h>

/* Another tool, as most are: wraps some calls and passes them on to PMPI_*. */
static int barrier_count;

int MPI_Init(int* argc, char*** argv) { return PMPI_Init(argc, argv); }

int MPI_Barrier(MPI_Comm comm) {
  ++barrier_count;
  return PMPI_Barrier(comm);
}

int MPI_Finalize(void) {
  fprintf(stderr, "other tool: %d barriers\n", barrier_count);
  return PMPI_Finalize();
}
