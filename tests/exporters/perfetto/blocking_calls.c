// An MPI program for size_test.py: ranks in a ring call MPI_Send, MPI_Recv and MPI_Bcast in turn.
//
//   mpirun -n 4 blocking_calls world|copy|halves ROUNDS
//
// The first argument is the communicator: MPI_COMM_WORLD, a duplicate of it, or one for each half
// of the ranks.
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { kTag = 1017, kBytes = 1000 };

static MPI_Comm communicator(const char* name, int rank, int size) {
  MPI_Comm comm = MPI_COMM_WORLD;
  if (strcmp(name, "copy") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (strcmp(name, "halves") == 0)
    MPI_Comm_split(MPI_COMM_WORLD, 2 * rank / size, /*key=*/rank, &comm);
  return comm;
}

int main(int argc, char** argv) {
  static char data[kBytes];
  int rank = 0;
  int size = 0;
  if (argc != 3) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const MPI_Comm comm = communicator(argv[1], rank, size);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int left = atoi(argv[2]); left > 0; --left) {
    MPI_Send(data, kBytes, MPI_BYTE, (rank + 1) % size, kTag, comm);  // buffered by the MPI library
    MPI_Recv(data, kBytes, MPI_BYTE, (rank + size - 1) % size, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Bcast(data, 64, MPI_BYTE, /*root=*/0, comm);
  }
  MPI_Finalize();
  return 0;
}
