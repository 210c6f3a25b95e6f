/* Rank 0 sends 64 bytes to rank 1 and gets them back, as often as the argument says; then all meet
 * in MPI_Allreduce. Between two trips it sleeps 1 ms, so that the other waits in MPI_Recv. Rank 0
 * prints "<ranks> ranks". */
#define _DEFAULT_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const int trips = argc > 1 ? atoi(argv[1]) : 1;
  char text[64] = {0};
  int rank = 0;
  int size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int trip = 0; trip < trips && rank < 2; ++trip) {
    if (rank == 0) {
      usleep(1000);
      MPI_Send(text, sizeof text, MPI_CHAR, 1, trip, MPI_COMM_WORLD);
      MPI_Recv(text, sizeof text, MPI_CHAR, 1, trip, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(text, sizeof text, MPI_CHAR, 0, trip, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(text, sizeof text, MPI_CHAR, 0, trip, MPI_COMM_WORLD);
    }
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks\n", size);
  MPI_Finalize();
  return 0;
}
