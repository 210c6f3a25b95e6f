/* clock_program SECONDS [barrier|allgather|alltoall|empty|uncounted]: collectives (MPI_Allreduce,
 * or what is named; empty: without data; uncounted: barriers, of which rank 1 makes every third by
 * its PMPI name), work, and messages from each rank to the next. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void meet(const char* how, long number, int rank) {
  static int all[64];
  int value = rank;
  if (strcmp(how, "barrier") == 0)
    MPI_Barrier(MPI_COMM_WORLD);
  else if (strcmp(how, "allgather") == 0)
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
  else if (strcmp(how, "alltoall") == 0)
    MPI_Alltoall(all, 1, MPI_INT, all + 32, 1, MPI_INT, MPI_COMM_WORLD);
  else if (strcmp(how, "empty") == 0)
    MPI_Allreduce(&value, all, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else if (strcmp(how, "uncounted") != 0)
    MPI_Allreduce(&value, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  else if (rank == 1 && number % 3 == 0)
    PMPI_Barrier(MPI_COMM_WORLD);
  else
    MPI_Barrier(MPI_COMM_WORLD);
}

static void step(const char* how, long number, int rank, int size) {
  int value = rank;
  meet(how, number, rank);
  if (number % 10 == 0) {
    const struct timespec work = {0, 200000};
    nanosleep(&work, NULL);
  }
  if (rank + 1 < size) MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* how = argc > 2 ? argv[2] : "";
  const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double begin = MPI_Wtime();
  int goes_on = 1;
  long number = 0;
  while (goes_on) {
    step(how, number++, rank, size);
    if (number % 100 != 0) continue;
    goes_on = MPI_Wtime() - begin < seconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("steps %ld\n", number);
  MPI_Finalize();
  return 0;
}
