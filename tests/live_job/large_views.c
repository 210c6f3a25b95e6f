/* large_views layers <steps> <ms>: a step shows twelve layers of 4096 x 96, more than a letter has
   space for. large_views split <steps> <ms>: each rank has half of one tensor, and calls no MPI in
   between; rank 1 is a little late. */
#include <mpi.h>

#include <megascope/megascope.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRows = 4096, kColumns = 96, kLayers = 12 };

static megascope_tensor_view view_of(const char* name, float* elements, int layer) {
  megascope_tensor_view view;
  memset(&view, 0, sizeof view);
  view.size_bytes = sizeof view;
  view.kind = MEGASCOPE_ACTV_OUT;
  view.dtype = MEGASCOPE_FLOAT32;
  view.name = name;
  view.data = elements;
  view.layer = layer;
  view.dimensions = 2;
  view.shape[0] = kRows;
  view.shape[1] = kColumns;
  return view;
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 1;
  MPI_Init(&argc, &argv);
  if (argc < 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int is_split = strcmp(argv[1], "split") == 0;
  const int steps = atoi(argv[2]);
  const double seconds = atof(argv[3]) * 1e-3;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  megascope_group_set("tp", rank, ranks);
  float* const elements = calloc((size_t)kRows * kColumns, sizeof *elements);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    megascope_step_begin(step);
    for (int layer = 0; layer < (is_split ? 1 : kLayers); ++layer) {
      megascope_tensor_view view = view_of("act", elements, layer);
      view.is_split = is_split;
      megascope_tensor(&view);
    }
    const double until = begin + (step + 1) * seconds + rank * 0.01;
    while (MPI_Wtime() < until) usleep(500);
    if (!is_split) MPI_Barrier(MPI_COMM_WORLD);
    megascope_step_end();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  free(elements);
  MPI_Finalize();
  return 0;
}
