/* SECONDS of all-reductions, of work, and of messages from each rank to the next. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void step(long number, int rank, int size) {
  int value = rank;
  int sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (number % 10 == 0) {
    const struct timespec work = {0, 200000};
    nanosleep(&work, NULL);
  }
  if (rank + 1 < size) MPI_Send(&value, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const double seconds = argc > 1 ? atof(argv[1]) : 1.0;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double begin = MPI_Wtime();
  int goes_on = 1;
  long number = 0;
  while (goes_on) {
    step(number++, rank, size);
    if (number % 100 != 0) continue;
    goes_on = MPI_Wtime() - begin < seconds;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("steps %ld\n", number);
  MPI_Finalize();
  return 0;
}
