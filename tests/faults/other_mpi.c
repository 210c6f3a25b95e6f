#include <mpi.h>

#include <stdio.h>

/* A program for another MPI than the one that the library was built for: its handles may be
   addresses where the library expects numbers of 32 bits. Calls with many arguments, whose handles
   come in registers and on the stack. */
int main(int argc, char** argv) {
  int rank = 0;
  int size = 0;
  int sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&size, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  const int next = (rank + 1) % size;
  const int previous = (rank + size - 1) % size;
  int from = -1;
  MPI_Comm comm;
  MPI_Status status;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Sendrecv(&rank, 1, MPI_INT, next, 7, &from, 1, MPI_INT, previous, 7, comm, &status);
  if (from != previous || status.MPI_SOURCE != previous) return 1;

  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(&from, 1, MPI_INT, previous, 8, comm, &requests[0]);
  MPI_Isend(&rank, 1, MPI_INT, next, 8, comm, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  if (from != previous || statuses[0].MPI_SOURCE != previous || requests[0] != MPI_REQUEST_NULL)
    return 2;

  int counts[2] = {1, 1};
  int places[2] = {0, sizeof(int)};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  int all[2] = {rank, rank};
  int got[2] = {-1, -1};
  if (size <= 2) MPI_Alltoallw(all, counts, places, types, got, counts, places, types, comm);
  for (int i = 0; i < size && size <= 2; ++i) {
    if (got[i] != i) return 3;
  }
  MPI_Datatype part;
  int extents[1] = {4};
  int parts[1] = {2};
  int starts[1] = {1};
  int bytes = 0;
  MPI_Type_create_subarray(1, extents, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &part);
  MPI_Type_size(part, &bytes);
  MPI_Type_free(&part);
  if (bytes != 16) return 4;
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  MPI_Finalize();
  return 0;
}
