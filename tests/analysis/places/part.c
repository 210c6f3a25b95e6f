/* A library that calls MPI: see heat.c. */
#include <mpi.h>

__attribute__((noinline)) static int inside(void) {
  return MPI_Bcast(MPI_BOTTOM, 0, MPI_INT, 0, MPI_COMM_WORLD) + 1; /* in inside */
}
int part_barrier(void);
int part_barrier(void) {
  const int one = inside();
  return MPI_Barrier(MPI_COMM_WORLD) + one; /* in part_barrier */
}
