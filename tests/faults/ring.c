// Passes a number around the ranks as often as the first argument says; the second is a program to
// run meanwhile.
#include <mpi.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(char* program) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "3", (char*)NULL);
    _exit(127);
  }
  return waitpid(child, &status, 0) == child ? status : 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = argc > 1 ? atoi(argv[1]) : 1; round > 0; --round) {
    int out = rank;
    int in = -1;
    MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (in != (rank + size - 1) % size) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const int status = argc > 2 ? run(argv[2]) : 0;
  MPI_Finalize();
  return status == 0 ? 0 : 1;
}
