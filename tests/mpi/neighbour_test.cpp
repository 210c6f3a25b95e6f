#include "tests/mpi/collective.h"

#include <array>
#include <vector>

/// Neighbourhood collectives: a block to each destination and from each source that exists. MPI-4.1
/// §8.6, §8.7.
namespace megascope::mpitest {
namespace {

constexpr int kNoNeighbourCount = 90;  // of a neighbour that does not exist

/// Of this rank, in the order of the topology: its neighbours, and how many elements pass in the v
/// and w forms.
struct Edges {
  std::vector<int> sources;
  std::vector<int> destinations;
  std::vector<int> recvcounts;
  std::vector<int> sendcounts;
};

/// All functions on one communicator. Allgather: 2 int; v: rank + 1 int; alltoall: 3 short; v: int,
/// w: double.
void call_all(const Who& me, MPI_Comm comm, Edges edges) {
  std::vector<double> out(512, me.rank);
  std::vector<double> in(512, -1);
  std::vector<int> blocks;
  std::vector<int> starts;
  std::vector<MPI_Aint> starts_bytes;
  for (const int source : edges.sources)
    blocks.push_back(source == MPI_PROC_NULL ? kNoNeighbourCount : source + 1);
  for (int i = 0; i < 5; ++i) {
    starts.push_back(100 * i);
    starts_bytes.push_back(800 * i);
  }
  const std::vector<MPI_Datatype> types(5, MPI_DOUBLE);
  edges.recvcounts.resize(5, kBogusCount);  // behind the last neighbour
  edges.sendcounts.resize(5, kBogusCount);
  blocks.resize(5, kBogusCount);
  MEGASCOPE_BOTH(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, out.data(), 2, MPI_INT, in.data(),
                 2, MPI_INT, comm);
  MEGASCOPE_BOTH(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, out.data(), me.rank + 1,
                 MPI_INT, in.data(), blocks.data(), starts.data(), MPI_INT, comm);
  MEGASCOPE_BOTH(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, out.data(), 3, MPI_SHORT, in.data(),
                 3, MPI_SHORT, comm);
  MEGASCOPE_BOTH(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, out.data(),
                 edges.sendcounts.data(), starts.data(), MPI_INT, in.data(),
                 edges.recvcounts.data(), starts.data(), MPI_INT, comm);
  MEGASCOPE_BOTH(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, out.data(),
                 edges.sendcounts.data(), starts_bytes.data(), types.data(), in.data(),
                 edges.recvcounts.data(), starts_bytes.data(), types.data(), comm);
}

/// What this rank passes in each form; neighbours that do not exist left out.
struct Sums {
  int destinations;
  int sources;
  int gathered;  ///< source + 1 over the sources
  int sent;      ///< elements in the v and w forms
  int received;
};

Lines all_lines(const Who& me, const char* comm, const Lines& made, const Sums& sums) {
  Lines lines = made;
  const Lines calls = Pairs(comm)
                          .add("Neighbor_allgather", "", sums.destinations * 8, sums.sources * 8)
                          .add("Neighbor_allgatherv", "", sums.destinations * 4 * (me.rank + 1),
                               sums.gathered * 4)
                          .add("Neighbor_alltoall", "", sums.destinations * 6, sums.sources * 6)
                          .add("Neighbor_alltoallv", "", sums.sent * 4, sums.received * 4)
                          .add("Neighbor_alltoallw", "", sums.sent * 8, sums.received * 8);
  lines.insert(lines.end(), calls.begin(), calls.end());
  lines.push_back(text("MPI_Comm_free on %s | ended %s", comm, comm));
  return lines;
}

/// A line of all ranks along dimension 0, which ends; dimension 1 is one rank wide and goes around,
/// so that a rank is both its own neighbours there. Two elements pass upwards along the line, one
/// downwards; three around.
const Scenario kGrid(
    "MpiNeighborAlltoall.OnAGridHasBlocksForNeighboursThatExist",
    [](const Who& me) {
      const std::array<int, 2> dimensions{me.size, 1};
      const std::array<int, 2> periods{0, 1};
      MPI_Comm grid;
      MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions.data(), periods.data(), 0, &grid);
      MPI_Comm_set_name(grid, "grid");
      const bool has_lower = me.rank > 0;
      const bool has_upper = me.rank < me.size - 1;
      const int lower = has_lower ? me.rank - 1 : MPI_PROC_NULL;
      const int upper = has_upper ? me.rank + 1 : MPI_PROC_NULL;
      call_all(me, grid,
               {.sources = {lower, upper, me.rank, me.rank},
                .destinations = {lower, upper, me.rank, me.rank},
                .recvcounts = {has_lower ? 2 : kNoNeighbourCount, has_upper ? 1 : kNoNeighbourCount,
                               3, 3},
                .sendcounts = {has_lower ? 1 : kNoNeighbourCount, has_upper ? 2 : kNoNeighbourCount,
                               3, 3}});
      MPI_Comm_free(&grid);
    },
    [](const Who& me) {
      const int lower = me.rank > 0 ? 1 : 0;
      const int upper = me.rank < me.size - 1 ? 1 : 0;
      const int degree = lower + upper + 2;
      return all_lines(me, "grid",
                       {"MPI_Cart_create on world | coll #0 sent 0 received 0; created grid",
                        "MPI_Comm_set_name on grid"},
                       {.destinations = degree,
                        .sources = degree,
                        .gathered = lower * me.rank + upper * (me.rank + 2) + 2 * (me.rank + 1),
                        .sent = lower + 2 * upper + 6,
                        .received = 2 * lower + upper + 6});
    });

/// A star: rank 0 and each other are neighbours. i elements go from 0 to i, 10 + i come back.
const Scenario kGraph(
    "MpiNeighborAlltoall.OnAGraphHasBlocksForItsNeighbours",
    [](const Who& me) {
      std::vector<int> index;
      std::vector<int> edges;
      for (int i = 1; i < me.size; ++i) edges.push_back(i);
      index.push_back(me.size - 1);
      for (int i = 1; i < me.size; ++i) {
        edges.push_back(0);
        index.push_back(me.size - 1 + i);
      }
      edges.push_back(kBogusCount);
      MPI_Comm star;
      MPI_Graph_create(MPI_COMM_WORLD, me.size, index.data(), edges.data(), 0, &star);
      MPI_Comm_set_name(star, "star");
      Edges of_me;
      if (me.rank == 0) {
        for (int i = 1; i < me.size; ++i) {
          of_me.sources.push_back(i);
          of_me.destinations.push_back(i);
          of_me.recvcounts.push_back(10 + i);
          of_me.sendcounts.push_back(i);
        }
      } else {
        of_me = {.sources = {0},
                 .destinations = {0},
                 .recvcounts = {me.rank},
                 .sendcounts = {10 + me.rank}};
      }
      call_all(me, star, of_me);
      MPI_Comm_free(&star);
    },
    [](const Who& me) {
      const Lines made = {"MPI_Graph_create on world | coll #0 sent 0 received 0; created star",
                          "MPI_Comm_set_name on star"};
      if (me.rank > 0)
        return all_lines(me, "star", made, {1, 1, /*gathered=*/1, /*sent=*/10 + me.rank, me.rank});
      if (me.size == 1) return all_lines(me, "star", made, {0, 0, 0, 0, 0});
      if (me.size == 2)
        return all_lines(me, "star", made, {1, 1, /*gathered=*/2, /*sent=*/1, /*received=*/11});
      return all_lines(
          me, "star", made,
          {3, 3, /*gathered=*/2 + 3 + 4, /*sent=*/1 + 2 + 3, /*received=*/11 + 12 + 13});
    });

/// Two edges from each rank to the next, for 2 and 5 elements, and one of 7 from rank 0 to itself.
const Scenario kAdjacent(
    "MpiNeighborAlltoall.OnADirectedGraphHasBlocksForEachEdge",
    [](const Who& me) {
      Edges edges = {.sources = {me.previous(), me.previous()},
                     .destinations = {me.next(), me.next()},
                     .recvcounts = {2, 5},
                     .sendcounts = {2, 5}};
      if (me.rank == 0) {
        edges.sources.push_back(0);
        edges.destinations.push_back(0);
        edges.recvcounts.push_back(7);
        edges.sendcounts.push_back(7);
      }
      const int degree = static_cast<int>(edges.sources.size());
      MPI_Comm ring;
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, edges.sources.data(), MPI_UNWEIGHTED,
                                     degree, edges.destinations.data(), MPI_UNWEIGHTED,
                                     MPI_INFO_NULL, 0, &ring);
      MPI_Comm_set_name(ring, "ring");
      call_all(me, ring, edges);
      MPI_Comm_free(&ring);
    },
    [](const Who& me) {
      const int loop = me.rank == 0 ? 1 : 0;
      return all_lines(
          me, "ring",
          {"MPI_Dist_graph_create_adjacent on world | coll #0 sent 0 received 0; created ring",
           "MPI_Comm_set_name on ring"},
          {.destinations = 2 + loop,
           .sources = 2 + loop,
           .gathered = 2 * (me.previous() + 1) + loop,
           .sent = 7 + 7 * loop,
           .received = 7 + 7 * loop});
    });

/// Rank 0 describes it all: everybody has an edge to rank 0, which has none else.
const Scenario kDistributed(
    "MpiNeighborAlltoall.OnADistributedGraphTellsSourcesFromDestinations",
    [](const Who& me) {
      std::vector<int> sources;
      for (int i = 0; i < me.size; ++i) sources.push_back(i);
      const std::vector<int> degrees(sources.size(), 1);
      const std::vector<int> destinations(sources.size(), 0);
      const std::vector<int> weights(sources.size(), 3);
      MPI_Comm funnel;
      MPI_Dist_graph_create(MPI_COMM_WORLD, me.rank == 0 ? me.size : 0, sources.data(),
                            degrees.data(), destinations.data(), weights.data(), MPI_INFO_NULL, 0,
                            &funnel);
      MPI_Comm_set_name(funnel, "funnel");
      Edges edges = {.sources = {}, .destinations = {0}, .recvcounts = {}, .sendcounts = {4}};
      if (me.rank == 0) {
        // MPI does not say in which order they come.
        int in = 0;
        int out = 0;
        int is_weighted = 0;
        MPI_Dist_graph_neighbors_count(funnel, &in, &out, &is_weighted);
        expect(in == me.size && out == 1 && is_weighted != 0, "everybody's edge");
        edges.sources.resize(static_cast<std::size_t>(in));
        std::vector<int> in_weights(edges.sources.size());
        int destination = -1;
        int out_weight = -1;
        MPI_Dist_graph_neighbors(funnel, in, edges.sources.data(), in_weights.data(), 1,
                                 &destination, &out_weight);
        edges.recvcounts.assign(edges.sources.size(), 4);
      }
      call_all(me, funnel, edges);
      MPI_Comm_free(&funnel);
    },
    [](const Who& me) {
      Lines made = {"MPI_Dist_graph_create on world | coll #0 sent 0 received 0; created funnel",
                    "MPI_Comm_set_name on funnel"};
      if (me.rank != 0) return all_lines(me, "funnel", made, {1, 0, 0, /*sent=*/4, 0});
      made.emplace_back("MPI_Dist_graph_neighbors_count on funnel");
      made.emplace_back("MPI_Dist_graph_neighbors on funnel");
      const int gathered = me.size == 1 ? 1 : me.size == 2 ? 3 : 10;
      return all_lines(me, "funnel", made,
                       {1, me.size, gathered, /*sent=*/4, /*received=*/4 * me.size});
    },
    on_ranks_of({1, 2, 4}, {1, 2}));  // MPICH 4.0 reads behind the arrays of MPI_Neighbor_alltoallw

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
