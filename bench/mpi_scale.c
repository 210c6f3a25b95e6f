/* A halo exchange on a periodic grid of ranks with a sum now and then, as solvers do it, for runs
 * with many ranks. mpi_scale [STEPS]. Rank 0 prints lines "name number 0 0": most ns of one rank in
 * MPI_Init, ns of rank 0 in an MPI_Barrier right behind it, memory of one rank at its end in bytes
 * (median and most of what is its own), ns a step, and ns that rank 0 was in MPI_Finalize. */
#define _POSIX_C_SOURCE 200809L
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kHalo = 256, kSumEvery = 10 };

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Memory that no other process shares: what one rank more costs. */
static double own_bytes(void) {
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  if (file == NULL) return 0;
  char line[256];
  double kib = 0;
  double sum = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    if (sscanf(line, "Private_Clean: %lf", &kib) == 1 ||
        sscanf(line, "Private_Dirty: %lf", &kib) == 1)
      sum += kib;
  }
  fclose(file);
  return sum * 1024;
}

static void step(MPI_Comm grid, const int* neighbours, int number) {
  double out[4][kHalo];
  double in[4][kHalo];
  MPI_Request requests[8];
  memset(out, 0, sizeof out);
  for (int side = 0; side < 4; ++side) {
    MPI_Irecv(in[side], kHalo, MPI_DOUBLE, neighbours[side], side, grid, &requests[side]);
    MPI_Isend(out[side], kHalo, MPI_DOUBLE, neighbours[side ^ 1], side, grid, &requests[4 + side]);
  }
  MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
  if (number % kSumEvery != 0) return;
  double sum = in[0][0];
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
}

static int compare(const void* a, const void* b) {
  const double difference = *(const double*)a - *(const double*)b;
  return (difference > 0) - (difference < 0);
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 200;
  const double main_ns = now_ns();
  MPI_Init(&argc, &argv);
  double init_ns = now_ns() - main_ns;
  const double barrier_begin_ns = now_ns();
  MPI_Barrier(MPI_COMM_WORLD);
  const double barrier_ns = now_ns() - barrier_begin_ns;
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int dimensions[2] = {0, 0};
  const int periods[2] = {1, 1};
  MPI_Comm grid;
  int neighbours[4];
  MPI_Dims_create(size, 2, dimensions);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periods, 0, &grid);
  MPI_Cart_shift(grid, 0, 1, &neighbours[0], &neighbours[1]);
  MPI_Cart_shift(grid, 1, 1, &neighbours[2], &neighbours[3]);
  const double steps_ns = now_ns();
  for (int i = 0; i < steps; ++i) step(grid, neighbours, i);
  const double step_ns = (now_ns() - steps_ns) / steps;
  const double own = own_bytes();
  double* all = malloc(sizeof *all * (size_t)size);
  MPI_Gather(&own, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &init_ns, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  MPI_Comm_free(&grid);
  MPI_Barrier(MPI_COMM_WORLD);
  const double finalize_ns = now_ns();
  MPI_Finalize();
  const double end_ns = now_ns();
  if (rank == 0) {
    qsort(all, (size_t)size, sizeof *all, compare);
    printf(
        "init %.0f 0 0\nbarrier %.0f 0 0\nmemory %.0f %.0f 0\nstep %.0f 0 0\nfinalize %.0f 0 0\n",
        init_ns, barrier_ns, all[size / 2], all[size - 1], step_ns, end_ns - finalize_ns);
  }
  free(all);
  return 0;
}
