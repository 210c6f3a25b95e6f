#pragma once

#include "mpi_layer/semantics/comm.h"

/// Semantics of topology queries: coordinates, ranks and neighbours. MPI-4.1 §8.
namespace megascope::mpi {

namespace topology {

/// Returns the topology as a number that does not depend on the MPI library.
constexpr int recorded_topology(int status) noexcept {
  return status == MPI_CART ? 1 : status == MPI_GRAPH ? 2 : status == MPI_DIST_GRAPH ? 3 : 0;
}

struct Which : Also<comm::About, "topology"> {
  static void complete(MpiThread& thread, CallRecord&, int rc, MPI_Comm,
                       const int* status) noexcept {
    if (rc == MPI_SUCCESS) record_value(thread, ValueName::kTopology, recorded_topology(*status));
  }
};
/// Records the size of the graph, not the size of the output arrays.
struct Graph : Also<comm::Object, "nodes, edges"> {
  template <class... Rest>
  static void complete(MpiThread& thread, CallRecord&, int rc, MPI_Comm comm, Rest&&...) noexcept {
    if (rc == MPI_SUCCESS) record_graph_size(thread, comm);
  }
};
struct Neighbours : Also<comm::Object, "rank, neighbours"> {
  template <class... Rest>
  static void complete(MpiThread& thread, CallRecord&, int rc, MPI_Comm comm, int rank,
                       Rest&&...) noexcept {
    if (rc == MPI_SUCCESS) record_neighbours(thread, comm, rank);
  }
};

}  // namespace topology

template <>
struct Semantics<Fn::Topo_test> : topology::Which {};
template <>
struct Semantics<Fn::Graph_get> : topology::Graph {};
template <>
struct Semantics<Fn::Graph_neighbors> : topology::Neighbours {};

#define MEGASCOPE_TOPOLOGY(name, ...) \
  template <>                         \
  struct Semantics<Fn::name> : Records<comm::About, __VA_ARGS__> {};
MEGASCOPE_TOPOLOGY(Cart_coords, RecordedArgument{1, ValueName::kRank},
                   RecordedArgument{3, ValueName::kCoordinate, 2, true})
MEGASCOPE_TOPOLOGY(Cart_get, RecordedArgument{2, ValueName::kDimension, 1, true},
                   RecordedArgument{3, ValueName::kPeriodic, 1, true},
                   RecordedArgument{4, ValueName::kCoordinate, 1, true})
MEGASCOPE_TOPOLOGY(Cart_map, RecordedArgument{2, ValueName::kDimension, 1},
                   RecordedArgument{3, ValueName::kPeriodic, 1},
                   RecordedArgument{4, ValueName::kRank})
MEGASCOPE_TOPOLOGY(Cart_rank, RecordedArgument{1, ValueName::kCoordinate, RecordedArgument::kGrid},
                   RecordedArgument{2, ValueName::kRank})
MEGASCOPE_TOPOLOGY(Cart_shift, RecordedArgument{1, ValueName::kDirection},
                   RecordedArgument{2, ValueName::kDisplacement},
                   RecordedArgument{3, ValueName::kSource},
                   RecordedArgument{4, ValueName::kDestination})
MEGASCOPE_TOPOLOGY(Cartdim_get, RecordedArgument{1, ValueName::kDimensionCount})
MEGASCOPE_TOPOLOGY(Graph_map, RecordedArgument{1, ValueName::kNodes},
                   RecordedArgument{4, ValueName::kRank})
MEGASCOPE_TOPOLOGY(Graph_neighbors_count, RecordedArgument{1, ValueName::kRank},
                   RecordedArgument{2, ValueName::kNeighbours})
MEGASCOPE_TOPOLOGY(Graphdims_get, RecordedArgument{1, ValueName::kNodes},
                   RecordedArgument{2, ValueName::kEdges})
MEGASCOPE_TOPOLOGY(Dist_graph_neighbors_count, RecordedArgument{1, ValueName::kSources},
                   RecordedArgument{2, ValueName::kDestinations},
                   RecordedArgument{3, ValueName::kWeighted})
#undef MEGASCOPE_TOPOLOGY
/// Ranks and weights of the neighbours are not recorded.
template <>
struct Semantics<Fn::Dist_graph_neighbors> : comm::Object {};

template <>
struct Semantics<Fn::Dims_create> : Records<NoSemantics, RecordedArgument{0, ValueName::kProcesses},
                                            RecordedArgument{2, ValueName::kDimension, 1}> {};

}  // namespace megascope::mpi
