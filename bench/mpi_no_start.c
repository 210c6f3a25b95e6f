/* Linked with MPI, which it never starts. */
#include <mpi.h>

int main(int argc, char** argv) {
  (void)argv;
  return argc > 1000 ? MPI_Init(&argc, &argv) : 0;
}
