#include "mpi_layer/semantics/recorded_arguments.h"

#include "mpi_layer/lookup/pmpi.h"

namespace megascope::mpi {

int grid_dimensions(MPI_Comm comm) noexcept {
  int count = 0;
  return pmpi<Fn::Cartdim_get>()(comm, &count) == MPI_SUCCESS ? count : 0;
}

void record_group_size(MpiThread& thread, MPI_Group group) noexcept {
  int size = 0;
  if (pmpi<Fn::Group_size>()(group, &size) == MPI_SUCCESS)
    record_value(thread, ValueName::kSize, size);
}

void record_graph_size(MpiThread& thread, MPI_Comm comm) noexcept {
  int nodes = 0;
  int edges = 0;
  if (pmpi<Fn::Graphdims_get>()(comm, &nodes, &edges) != MPI_SUCCESS) return;
  record_value(thread, ValueName::kNodes, nodes);
  record_value(thread, ValueName::kEdges, edges);
}

void record_neighbours(MpiThread& thread, MPI_Comm comm, int rank) noexcept {
  int count = 0;
  if (pmpi<Fn::Graph_neighbors_count>()(comm, rank, &count) != MPI_SUCCESS) return;
  record_value(thread, ValueName::kRank, rank);
  record_value(thread, ValueName::kNeighbours, count);
}

}  // namespace megascope::mpi
