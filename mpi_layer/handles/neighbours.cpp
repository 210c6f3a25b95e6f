#include "mpi_layer/calls/no_memory.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/lookup/pmpi.h"

#include <memory>

namespace megascope::mpi {
namespace {

using Neighbours = CommState::Neighbours;

/// Queries the lower and the upper neighbour along each dimension. MPI-4.1 §8.6.
void ask_grid(MPI_Comm comm, Neighbours& to) {
  int dimension_count = 0;
  pmpi<Fn::Cartdim_get>()(comm, &dimension_count);
  for (int dimension = 0; dimension < dimension_count; ++dimension) {
    int lower = MPI_PROC_NULL;
    int upper = MPI_PROC_NULL;
    pmpi<Fn::Cart_shift>()(comm, dimension, 1, &lower, &upper);
    to.sources.insert(to.sources.end(), {lower, upper});
  }
  to.destinations = to.sources;
}

void ask_graph(MPI_Comm comm, int rank, Neighbours& to) {
  int count = 0;
  pmpi<Fn::Graph_neighbors_count>()(comm, rank, &count);
  to.sources.resize(static_cast<std::size_t>(count));
  pmpi<Fn::Graph_neighbors>()(comm, rank, count, to.sources.data());
  to.destinations = to.sources;
}

void ask_distributed_graph(MPI_Comm comm, Neighbours& to) {
  int in = 0;
  int out = 0;
  int is_weighted = 0;
  pmpi<Fn::Dist_graph_neighbors_count>()(comm, &in, &out, &is_weighted);
  to.sources.resize(static_cast<std::size_t>(in));
  to.destinations.resize(static_cast<std::size_t>(out));
  std::vector<int> in_weights(to.sources.size());
  std::vector<int> out_weights(to.destinations.size());
  pmpi<Fn::Dist_graph_neighbors>()(comm, in, to.sources.data(), in_weights.data(), out,
                                   to.destinations.data(), out_weights.data());
}

}  // namespace

const Neighbours& neighbours_of(CommState& state, MPI_Comm comm) noexcept {
  static const Neighbours nothing{};  // memory ran out: queried again at the next call
  if (const Neighbours* known = state.neighbours.load(std::memory_order_acquire)) return *known;
  const Neighbours* const asked = or_nothing([&]() -> const Neighbours* {
    auto made = std::make_unique<Neighbours>();
    int topology = MPI_UNDEFINED;
    if (!state.is_inter) pmpi<Fn::Topo_test>()(comm, &topology);
    if (topology == MPI_CART) ask_grid(comm, *made);
    if (topology == MPI_GRAPH) ask_graph(comm, state.rank, *made);
    if (topology == MPI_DIST_GRAPH) ask_distributed_graph(comm, *made);
    const Neighbours* none = nullptr;
    if (state.neighbours.compare_exchange_strong(none, made.get()))
      return made.release();  // never freed, like the state
    return none;
  });
  return asked != nullptr ? *asked : nothing;
}

}  // namespace megascope::mpi
