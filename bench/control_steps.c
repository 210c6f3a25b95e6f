/* Steps of a program that shows gradients, for bench/control_cost.py, which runs it with and
 * without talking at steps. control_steps STEPS TENSORS ELEMENTS WORK   prints "step <ns, median>
 * <ns, least> <ns, mean>" A step is WORK thousand multiplications and additions, each behind the
 * other, an MPI_Allreduce of 64 KiB, and TENSORS gradients of ELEMENTS float32 numbers in all that
 * are shown, of which each rank has its part. */
#include <mpi.h>

#include <megascope/megascope.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kReduced = 16384 };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static volatile double source = 1.5;
static volatile double sink;
static void work(long thousands) {
  double sum = source;
  for (long i = 0; i < thousands * 1000; ++i) sum = sum * 0.999999 + 1e-6;
  sink = sum;
}

static void show(int index, const float* values, int64_t elements) {
  char name[32];
  snprintf(name, sizeof name, "w%d", index);
  megascope_tensor_view view = {0};
  view.size_bytes = sizeof view;
  view.name = name;
  view.kind = MEGASCOPE_GRAD_REDUCED;
  view.dtype = MEGASCOPE_FLOAT32;
  view.layer = index / 12;
  view.micro_batch = MEGASCOPE_NOWHERE;
  view.data = values;
  view.dimensions = 1;
  view.shape[0] = elements;
  view.is_split = 1;
  megascope_tensor(&view);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int steps = argc > 1 ? atoi(argv[1]) : 200;
  const int tensors = argc > 2 ? atoi(argv[2]) : 148;
  const int64_t elements = argc > 3 ? atoll(argv[3]) : 1000;
  const long thousands = argc > 4 ? atol(argv[4]) : 2000;
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int64_t mine = elements / ranks;
  float* values = malloc((size_t)mine * sizeof(float) + 4);
  for (int64_t i = 0; i < mine; ++i) values[i] = (float)(i % 101) * 1e-3F;
  static float reduced[kReduced];
  double* times = malloc(sizeof(double) * (size_t)steps);
  double sum = 0.0;
  for (int step = 0; step < steps; ++step) {
    const double begin = MPI_Wtime();
    megascope_step_begin(step);
    work(thousands);
    MPI_Allreduce(MPI_IN_PLACE, reduced, kReduced, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < tensors; ++i) show(i, values, mine);
    megascope_step_end();
    times[step] = (MPI_Wtime() - begin) * 1e9;
    sum += times[step];
  }
  qsort(times, (size_t)steps, sizeof(double), compare);
  if (rank == 0) printf("step %.0f %.0f %.0f\n", times[steps / 2], times[0], sum / steps);
  free(times);
  free(values);
  MPI_Finalize();
  return 0;
}
