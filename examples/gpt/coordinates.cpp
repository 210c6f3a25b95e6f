#include "coordinates.h"

#include "observe.h"

namespace gpt {

namespace {

/// Creates an axis. The name is set for tools.
Axis make_axis(const char* name, int color, int key) {
  Axis axis;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &axis.comm);
  MPI_Comm_set_name(axis.comm, name);
  MPI_Comm_rank(axis.comm, &axis.rank);
  MPI_Comm_size(axis.comm, &axis.size);
  return axis;
}

}  // namespace

GridCoordinates::GridCoordinates(const Settings& settings) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  is_world_first = rank == 0;
  const int tp_index = rank % settings.tp;
  const int dp_index = rank / settings.tp % settings.dp;
  const int pp_index = rank / settings.tp / settings.dp;
  tp = make_axis("tp", dp_index + settings.dp * pp_index, tp_index);
  dp = make_axis("dp", tp_index + settings.tp * pp_index, dp_index);
  pp = make_axis("pp", tp_index + settings.tp * dp_index, pp_index);
  model = make_axis("replica", dp_index, rank);
  dp_of_chunk.resize(static_cast<std::size_t>(settings.chunks));
  for (MPI_Comm& comm : dp_of_chunk) {
    MPI_Comm_dup(dp.comm, &comm);
    MPI_Comm_set_name(comm, "dp");
  }
  observe::group("tp", tp.comm);
  observe::group("dp", dp.comm);
  observe::group("pp", pp.comm);
}

GridCoordinates::~GridCoordinates() {
  for (MPI_Comm& comm : dp_of_chunk) MPI_Comm_free(&comm);
  for (Axis* axis : {&tp, &dp, &pp, &model}) MPI_Comm_free(&axis->comm);
}

void sum_over(const Axis& axis, float* values, std::size_t count) {
  if (axis.size > 1)
    MPI_Allreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT, MPI_SUM, axis.comm);
}

}  // namespace gpt
