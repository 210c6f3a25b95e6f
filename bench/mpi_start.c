/* Prints one line: start, ns in MPI_Init, ns in MPI_Comm_rank, ns in MPI_Finalize, of rank 0. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <stdio.h>
#include <time.h>

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  const double main_ns = now_ns();
  MPI_Init(&argc, &argv);
  const double init_ns = now_ns();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double finalize_ns = now_ns();
  MPI_Finalize();
  const double end_ns = now_ns();
  if (rank == 0)
    printf("start %.0f %.0f %.0f\n", init_ns - main_ns, finalize_ns - init_ns,
           end_ns - finalize_ns);
  return 0;
}
