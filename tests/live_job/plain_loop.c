/* A program without hooks: plain_loop <seconds>. Rank 1 takes its time before each sum. plain_loop
   <seconds> test: one nonblocking barrier, for which rank 0 tests until rank 1 comes. */
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

static void test_for(double seconds, int rank) {
  MPI_Request request;
  if (rank == 1) sleep((unsigned)seconds);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int is_done = 0; !is_done;) MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank = 0;
  double sum = 0.0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 2) {
    test_for(atof(argv[1]), rank);
    MPI_Finalize();
    return 0;
  }
  const double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 3.0);
  for (int goes_on = 1; goes_on;) {
    double mine = 1.0;
    if (rank == 1) usleep(20000);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    goes_on = MPI_Wtime() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
