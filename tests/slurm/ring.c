/* A ring of ranks for tests of launchers.
 *
 *   ring LAPS                  each rank calls MPI_Sendrecv of 64 bytes LAPS times, then
 * MPI_Allreduce once ring LAPS exit STATUS      and every rank returns STATUS ring LAPS wait FILE
 * and every rank makes FILE.<rank> and sleeps, between MPI_Allreduce and MPI_Finalize ring LAPS
 * abort            and rank 1 calls MPI_Abort with 7, while the others sleep ring LAPS leave and
 * rank 1 ends by _exit(5), while the others sleep
 *
 * Rank 0 prints "<ranks> ranks, sum <sum of the ranks>". */
#define _DEFAULT_SOURCE
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_laps(int laps, int rank, int size) {
  char out[64] = {0};
  char in[64];
  for (int lap = 0; lap < laps; ++lap) {
    MPI_Sendrecv(out, 64, MPI_CHAR, (rank + 1) % size, lap, in, 64, MPI_CHAR,
                 (rank + size - 1) % size, lap, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void sleep_for_ever(void) {
  for (;;) pause();
}

static void mark(const char* path, int rank) {
  char name[4096];
  snprintf(name, sizeof name, "%s.%d", path, rank);
  FILE* file = fopen(name, "w");
  if (file == NULL) MPI_Abort(MPI_COMM_WORLD, 9);
  fclose(file);
}

/* Until every rank has left MPI_Init: Open MPI 4.1 under srun may crash in it (a call of NULL in
 * btl/tcp) when another rank sends to it already. */
static void wait_for_ranks(const char* laps, int rank, int size) {
  const char* job = getenv("SLURM_JOB_ID");
  char path[256];
  snprintf(path, sizeof path, "started.%s.%s", job == NULL ? "" : job, laps);
  mark(path, rank);
  for (int other = 0; other < size; ++other) {
    char name[300];
    snprintf(name, sizeof name, "%s.%d", path, other);
    while (access(name, F_OK) != 0) usleep(1000);
  }
}

int main(int argc, char** argv) {
  const int laps = argc > 1 ? atoi(argv[1]) : 1;
  const char* what = argc > 2 ? argv[2] : "";
  int rank = 0;
  int size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  wait_for_ranks(argc > 1 ? argv[1] : "1", rank, size);
  run_laps(laps, rank, size);
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
  fflush(stdout);
  if (strcmp(what, "wait") == 0) {
    mark(argv[3], rank);
    sleep_for_ever();
  }
  if (strcmp(what, "abort") == 0 || strcmp(what, "leave") == 0) {
    if (rank != 1) sleep_for_ever();
    if (strcmp(what, "leave") == 0) _exit(5);
    MPI_Abort(MPI_COMM_WORLD, 7);
  }
  MPI_Finalize();
  return strcmp(what, "exit") == 0 ? atoi(argv[3]) : 0;
}
