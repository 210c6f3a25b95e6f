/* message_patterns regular|irregular CALLS: as many MPI calls on each of two ranks. regular:
   messages of one size to and from the other rank and a reduction, in a loop. irregular: each
   message has another size and tag. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4096 };

static void regular(int peer, long calls) {
  static char to[64], from[64];
  for (long i = 0; i < calls / 4; ++i) {
    MPI_Request requests[2];
    double mine = 1, sum;
    MPI_Irecv(from, 64, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(to, 64, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void irregular(int rank, int peer, long calls) {
  static char data[MOST_BYTES];
  unsigned state = 1;
  for (long i = 0; i < calls; ++i) {
    state = state * 1664525u + 1013904223u; /* the same on both ranks */
    const int bytes = (int)(state >> 8) % MOST_BYTES, tag = (int)(state >> 20) % 16,
              sender = (int)(state >> 30) % 2;
    if (sender == rank)
      MPI_Send(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    else
      MPI_Recv(data, MOST_BYTES, MPI_BYTE, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long calls = argc > 2 ? atol(argv[2]) : 0;
  if (size != 2 || calls <= 0) {
    fprintf(stderr, "usage: mpirun -n 2 message_patterns regular|irregular CALLS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (strcmp(argv[1], "regular") == 0)
    regular(1 - rank, calls);
  else
    irregular(rank, 1 - rank, calls);
  MPI_Finalize();
  return 0;
}
