/* A program without hooks: plain_ring <seconds>. Each iteration every rank sends 1000 doubles to
   the next one, two ints to rank 0, and takes part in a sum. Rank 1 takes its time before the sum.
   Prints how many iterations there were. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kLength = 1000 };

int main(int argc, char** argv) {
  static double out[kLength];
  static double in[kLength];
  int rank = 0;
  int size = 1;
  long iterations = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 3.0);
  for (int goes_on = 1; goes_on; ++iterations) {
    const int pair[2] = {rank, 1};
    double mine = 1.0;
    double sum = 0.0;
    MPI_Sendrecv(out, kLength, MPI_DOUBLE, (rank + 1) % size, 1, in, kLength, MPI_DOUBLE,
                 (rank + size - 1) % size, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(pair, 2, MPI_INT, 0, 2, MPI_COMM_WORLD);
    for (int from = 1; rank == 0 && from < size; ++from) {
      int theirs[2];
      MPI_Recv(theirs, 2, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) usleep(5000);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("iterations %ld\n", iterations);
  MPI_Finalize();
  return 0;
}
