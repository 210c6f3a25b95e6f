#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

/// Communicators with a topology: their making, parts and queries.
namespace megascope::mpitest {
namespace {

using Ranks = std::vector<std::int32_t>;

/// P ranks as a grid of P/2 rows and two columns; with one rank 1 × 1.
int columns(const Who& me) { return me.size == 1 ? 1 : 2; }

const Scenario kCart(
    "MpiCartCreate.MakesAGridWithRowsAndColumns",
    [](const Who& me) {
      std::array<int, 2> dimensions{0, columns(me)};
      const std::array<int, 2> periods{1, 0};
      MPI_Dims_create(me.size, 2, dimensions.data());
      expect(dimensions[0] == me.size / columns(me), "the rows");
      MPI_Comm grid;
      MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions.data(), periods.data(), 0, &grid);
      MPI_Comm_set_name(grid, "grid");
      int value = -1;
      std::array<int, 2> numbers{};
      std::array<int, 2> others{};
      std::array<int, 2> flags{};
      MPI_Topo_test(grid, &value);
      expect(value == MPI_CART, "a grid");
      MPI_Cartdim_get(grid, &value);
      MPI_Cart_get(grid, 2, numbers.data(), flags.data(), others.data());
      MPI_Cart_coords(grid, me.rank, 5, numbers.data());  // there are two
      expect(numbers[0] == me.rank / columns(me) && numbers[1] == me.rank % columns(me),
             "row and column");
      MPI_Cart_rank(grid, numbers.data(), &value);
      expect(value == me.rank, "and back");
      int above = -1;
      int below = -1;
      MPI_Cart_shift(grid, 0, 1, &above, &below);
      MPI_Cart_map(MPI_COMM_WORLD, 2, dimensions.data(), periods.data(), &value);
      int out = 5;
      int in = 0;
      MPI_Sendrecv(&out, 1, MPI_INT, below, 3, &in, 1, MPI_INT, above, 3, grid, MPI_STATUS_IGNORE);
      const std::array<int, 2> keep_columns{0, 1};
      MPI_Comm row;
      MPI_Cart_sub(grid, keep_columns.data(), &row);
      MPI_Comm_set_name(row, "row");
      MPI_Barrier(row);
      MPI_Comm_free(&row);
      MPI_Comm_free(&grid);
    },
    [](const Who& me) -> Lines {
      const int below = (me.rank + columns(me)) % me.size;
      const int above = (me.rank + me.size - columns(me)) % me.size;
      const int rows = me.size / columns(me);
      const std::string grid = text("dimension_0 %d, dimension_1 %d, periodic_0 1, periodic_1 0",
                                    rows, columns(me));
      const std::string place = text("coordinate_0 %d, coordinate_1 %d", me.rank / columns(me),
                                     me.rank % columns(me));
      return {text("MPI_Dims_create {processes %d, dimension_0 %d, dimension_1 %d}", me.size, rows,
                   columns(me)),
              "MPI_Cart_create on world | coll #0 sent 0 received 0; created grid {" + grid +
                  ", reorder 0}",
              "MPI_Comm_set_name on grid",
              "MPI_Topo_test on grid {topology 1}",
              "MPI_Cartdim_get on grid {dimensions 2}",
              "MPI_Cart_get on grid {" + grid + ", " + place + "}",
              text("MPI_Cart_coords on grid {rank %d, ", me.rank) + place + "}",
              "MPI_Cart_rank on grid {" + place + text(", rank %d}", me.rank),
              text("MPI_Cart_shift on grid {direction 0, displacement 1, source_rank %d, "
                   "destination_rank %d}",
                   above, below),
              "MPI_Cart_map on world {" + grid + text(", rank %d}", me.rank),
              text("MPI_Sendrecv on grid | send to %d tag 3 bytes 4; recv from %d tag 3 bytes 4",
                   below, above),
              "MPI_Cart_sub on grid | coll #0 sent 0 received 0; created row {remains_0 0, "
              "remains_1 1}",
              "MPI_Comm_set_name on row",
              "MPI_Barrier on row | coll #0 sent 0 received 0",
              "MPI_Comm_free on row | ended row",
              "MPI_Comm_free on grid | ended grid"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Ranks row = run.rank_count() == 1 ? Ranks{0} : rank < 2 ? Ranks{0, 1} : Ranks{2, 3};
        EXPECT_EQ(expand(run.comm(rank, "row").members), row);
        EXPECT_EQ(run.comm(rank, "row").parent, run.comm(rank, "grid").id);
        EXPECT_EQ(run.comm(rank, "grid").parent, run.comm(rank, "world").id);
        EXPECT_EQ(expand(run.comm(rank, "grid").members).size(),
                  static_cast<std::size_t>(run.rank_count()));
        EXPECT_EQ(run.comm(rank, "grid").my_rank, rank);
      }
    });

const Scenario kSmallGrid(
    "MpiCartCreate.LeavesOutRanksThatAreTooMany",
    [](const Who& me) {
      const int first = 1;
      const int period = 0;
      MPI_Comm alone;
      MPI_Cart_create(MPI_COMM_WORLD, 1, &first, &period, 0, &alone);
      expect((alone == MPI_COMM_NULL) == (me.rank > 0), "a grid of one");
      if (me.rank > 0) return;
      MPI_Comm_set_name(alone, "alone");
      MPI_Comm nothing_left;  // of a grid without dimensions
      const int keep = 0;
      MPI_Cart_sub(alone, &keep, &nothing_left);
      MPI_Comm_set_name(nothing_left, "point");
      MPI_Comm_free(&nothing_left);
      MPI_Comm_free(&alone);
    },
    [](const Who& me) -> Lines {
      if (me.rank > 0) return {"MPI_Cart_create on world | coll #0 sent 0 received 0"};
      return {"MPI_Cart_create on world | coll #0 sent 0 received 0; created alone",
              "MPI_Comm_set_name on alone",
              "MPI_Cart_sub on alone | coll #0 sent 0 received 0; created point",
              "MPI_Comm_set_name on point",
              "MPI_Comm_free on point | ended point",
              "MPI_Comm_free on alone | ended alone"};
    },
    {1, 2, 4},
    [](const Recorded& run) { EXPECT_EQ(expand(run.comm(0, "alone").members), Ranks{0}); });

/// A ring, and a graph of the first two ranks (the first, with one) alone.
const Scenario kGraph(
    "MpiGraphCreate.MakesAGraphOfSomeOrAllRanks",
    [](const Who& me) {
      std::vector<int> index;
      std::vector<int> edges;
      for (int i = 0; i < me.size; ++i) {
        edges.push_back((i + me.size - 1) % me.size);
        edges.push_back((i + 1) % me.size);
        index.push_back(2 * (i + 1));
      }
      MPI_Comm ring;
      MPI_Graph_create(MPI_COMM_WORLD, me.size, index.data(), edges.data(), 0, &ring);
      MPI_Comm_set_name(ring, "ring");
      int nodes = -1;
      int count = -1;
      MPI_Graphdims_get(ring, &nodes, &count);
      expect(nodes == me.size && count == 2 * me.size, "the sizes");
      MPI_Graph_get(ring, nodes, count, index.data(), edges.data());
      MPI_Graph_neighbors_count(ring, me.rank, &count);
      std::array<int, 2> neighbours{};
      MPI_Graph_neighbors(ring, me.rank, 2, neighbours.data());
      expect(count == 2 && neighbours[0] == me.previous() && neighbours[1] == me.next(),
             "both sides");
      MPI_Graph_map(MPI_COMM_WORLD, me.size, index.data(), edges.data(), &count);
      MPI_Comm_free(&ring);
      const int few = me.size < 2 ? 1 : 2;
      const std::array<int, 2> few_index{1, 2};
      const std::array<int, 2> few_edges{few - 1, 0};
      MPI_Comm pair;
      MPI_Graph_create(MPI_COMM_WORLD, few, few_index.data(), few_edges.data(), 0, &pair);
      expect((pair == MPI_COMM_NULL) == (me.rank >= few), "the first ranks");
      if (pair == MPI_COMM_NULL) return;
      MPI_Comm_set_name(pair, "pair");
      MPI_Comm_free(&pair);
    },
    [](const Who& me) -> Lines {
      const std::string dimensions = text("{nodes %d, edges %d}", me.size, 2 * me.size);
      const std::string neighbours = text("{rank %d, neighbours 2}", me.rank);
      Lines lines = {text("MPI_Graph_create on world | coll #0 sent 0 received 0; created ring "
                          "{nodes %d, reorder 0}",
                          me.size),
                     "MPI_Comm_set_name on ring",
                     "MPI_Graphdims_get on ring " + dimensions,
                     "MPI_Graph_get on ring " + dimensions,
                     "MPI_Graph_neighbors_count on ring " + neighbours,
                     "MPI_Graph_neighbors on ring " + neighbours,
                     text("MPI_Graph_map on world {nodes %d, rank %d}", me.size, me.rank),
                     "MPI_Comm_free on ring | ended ring"};
      if (me.rank >= 2) {
        lines.emplace_back("MPI_Graph_create on world | coll #1 sent 0 received 0");
      } else {
        lines.insert(lines.end(),
                     {"MPI_Graph_create on world | coll #1 sent 0 received 0; created pair",
                      "MPI_Comm_set_name on pair", "MPI_Comm_free on pair | ended pair"});
      }
      return lines;
    },
    {1, 2, 4},
    [](const Recorded& run) {
      const Ranks members = run.rank_count() == 1 ? Ranks{0} : Ranks{0, 1};
      EXPECT_EQ(expand(run.comm(0, "pair").members), members);
    });

const Scenario kDistributed(
    "MpiDistGraphCreate.MakesACommunicatorOfAll",
    [](const Who& me) {
      const int from = me.previous();
      const int to = me.next();
      MPI_Comm adjacent;
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &adjacent);
      MPI_Comm_set_name(adjacent, "adjacent");
      const int one = 1;
      MPI_Comm distributed;
      MPI_Dist_graph_create(adjacent, 1, &me.rank, &one, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                            &distributed);
      MPI_Comm_set_name(distributed, "distributed");
      int in = -1;
      int out = -1;
      int is_weighted = -1;
      MPI_Dist_graph_neighbors_count(distributed, &in, &out, &is_weighted);
      expect(in == 1 && out == 1 && is_weighted == 0, "one each way");
      int source = -1;
      int destination = -1;
      MPI_Dist_graph_neighbors(distributed, 1, &source, MPI_UNWEIGHTED, 1, &destination,
                               MPI_UNWEIGHTED);
      expect(source == from && destination == to, "both sides");
      MPI_Comm_free(&distributed);
      MPI_Comm_free(&adjacent);
    },
    [](const Who&) -> Lines {
      return {
          "MPI_Dist_graph_create_adjacent on world | coll #0 sent 0 received 0; created adjacent "
          "{sources 1, destinations 1, reorder 0}",
          "MPI_Comm_set_name on adjacent",
          "MPI_Dist_graph_create on adjacent | coll #0 sent 0 received 0; created distributed "
          "{nodes 1, reorder 0}",
          "MPI_Comm_set_name on distributed",
          "MPI_Dist_graph_neighbors_count on distributed {sources 1, destinations 1, weighted 0}",
          "MPI_Dist_graph_neighbors on distributed",
          "MPI_Comm_free on distributed | ended distributed",
          "MPI_Comm_free on adjacent | ended adjacent"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(run.comm(rank, "distributed").members, run.comm(rank, "world").members);
        EXPECT_EQ(run.comm(rank, "distributed").parent, run.comm(rank, "adjacent").id);
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
