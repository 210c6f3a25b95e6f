/* Calls whose places tests/analysis/places_test.py looks for: each line that calls has a mark. */
#define _GNU_SOURCE
#include <mpi.h>

#include <string.h>
#include <sys/mman.h>

int part_barrier(void); /* of a library */

__attribute__((noinline)) static double solve(int step) {
  double mine = step;
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* in solve */
  return sum + 1;
}

/* MPI_Barrier(MPI_COMM_WORLD) from code that belongs to no file: sub, mov rdi, mov rax, call, add,
 * ret. */
static int call_from_nowhere(void) {
  unsigned char code[31] = {0x48, 0x83, 0xEC, 8, 0x48, 0xBF};
  const MPI_Comm world = MPI_COMM_WORLD;
  int (*const barrier)(MPI_Comm) = &MPI_Barrier;
  memcpy(code + 6, &world, sizeof world);
  memcpy(code + 14, "\x48\xB8", 2);
  memcpy(code + 16, &barrier, sizeof barrier);
  memcpy(code + 24, "\xFF\xD0\x48\x83\xC4\x08\xC3", 7);
  void* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return 1;
  memcpy(page, code, sizeof code);
  int (*run)(void);
  memcpy(&run, &page, sizeof run);
  return run();
}

int main(int argc, char** argv) {
  double sum = 0;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 50; ++i) sum += solve(i);
  MPI_Barrier(MPI_COMM_WORLD); /* in main */
  if (part_barrier() != 1 || call_from_nowhere() != 0) return 1;
  MPI_Finalize();
  return sum < 0;
}
