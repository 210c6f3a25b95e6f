/* A short job with messages, collectives, steps and hooks, one of whose ranks sets an option for
 * itself before MPI starts: differing RANK-VARIABLE RANK NAME=VALUE The library reads its options
 * in MPI_Init. */
#include <mpi.h>

#include <megascope/megascope.h>
#include <stdlib.h>
#include <string.h>

enum { kSteps = 12, kElements = 64 };

static void exchange(MPI_Comm comm, int rank, int size) {
  double out[kElements] = {0};
  double in[kElements];
  MPI_Request requests[2];
  MPI_Sendrecv(out, kElements, MPI_DOUBLE, (rank + 1) % size, 0, in, kElements, MPI_DOUBLE,
               (rank + size - 1) % size, 0, comm, MPI_STATUS_IGNORE);
  MPI_Irecv(in, kElements, MPI_DOUBLE, (rank + size - 1) % size, 1, comm, &requests[0]);
  MPI_Isend(out, kElements, MPI_DOUBLE, (rank + 1) % size, 1, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Allreduce(out, in, kElements, MPI_DOUBLE, MPI_SUM, comm);
}

static void show(int step) {
  float values[kElements];
  for (int i = 0; i < kElements; ++i) values[i] = (float)(i + step);
  if (step == 3) values[0] = values[1] / 0.0F;
  megascope_tensor_view view = {0};
  view.size_bytes = sizeof view;
  view.name = "layer.weight";
  view.kind = MEGASCOPE_WEIGHT;
  view.dtype = MEGASCOPE_FLOAT32;
  view.layer = MEGASCOPE_NOWHERE;
  view.micro_batch = MEGASCOPE_NOWHERE;
  view.data = values;
  view.dimensions = 1;
  view.shape[0] = kElements;
  megascope_tensor(&view);
}

static void train(MPI_Comm comm, int rank, int size) {
  const megascope_region forward = megascope_region_define("forward");
  const megascope_counter loss = megascope_counter_define("loss", "nats");
  for (int step = 0; step < kSteps; ++step) {
    megascope_step_begin(step);
    megascope_region_enter(forward);
    exchange(comm, rank, size);
    show(step);
    megascope_region_leave(forward);
    for (int i = 0; i < 40; ++i) MPI_Barrier(MPI_COMM_WORLD); /* where clocks are compared */
    megascope_counter_set(loss, 1.0 / (step + 1));
    megascope_step_end();
  }
}

int main(int argc, char** argv) {
  const char* const launched = argc == 4 ? getenv(argv[1]) : NULL;
  if (launched == NULL) return 3;
  if (strcmp(launched, argv[2]) == 0) putenv(argv[3]);
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm pmpi;
  MPI_Comm_dup(MPI_COMM_WORLD, &pmpi);
  train(pmpi, rank, size);
  MPI_Comm_free(&pmpi);
  MPI_Finalize();
  return 0;
}
