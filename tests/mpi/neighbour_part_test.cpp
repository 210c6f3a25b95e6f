#include "tests/mpi/collective.h"

#include <array>
#include <set>
#include <vector>

/// Neighbourhood collectives on what is made from communicators with a topology, after each other
/// at one handle, with types of several sizes, and of nothing.
namespace megascope::mpitest {
namespace {

Lines operator+(Lines lines, const Lines& others) {
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

/// All ranks along one dimension.
MPI_Comm make_line(const Who& me, bool goes_around) {
  const int period = goes_around ? 1 : 0;
  MPI_Comm line;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &me.size, &period, 0, &line);
  return line;
}
/// Neighbours on a line that ends.
int degree(const Who& me) { return (me.rank > 0 ? 1 : 0) + (me.rank < me.size - 1 ? 1 : 0); }

void gather_ints(MPI_Comm comm) {
  const std::array<int, 2> out{};
  std::array<int, 16> in{};
  MEGASCOPE_BOTH(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, out.data(), 2, MPI_INT, in.data(),
                 2, MPI_INT, comm);
}

/// An edge to the next rank, for an int, and one to the previous, for two doubles, which come as
/// bytes. Two shorts with a gap are gathered.
const Scenario kTypes(
    "MpiNeighborAlltoallw.CountsEachNeighbourByItsType",
    [](const Who& me) {
      const std::array<int, 2> sources{me.previous(), me.next()};
      const std::array<int, 2> destinations{me.next(), me.previous()};
      MPI_Comm ring;
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources.data(), MPI_UNWEIGHTED, 2,
                                     destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
      MPI_Comm_set_name(ring, "ring");
      MPI_Datatype shorts;
      MPI_Type_vector(2, 1, 3, MPI_SHORT, &shorts);
      MPI_Type_commit(&shorts);
      std::array<double, 8> out{};
      std::array<double, 8> in{};
      const std::array<MPI_Datatype, 3> sent{MPI_INT, MPI_DOUBLE, kBogusType};
      const std::array<MPI_Datatype, 3> received{MPI_INT, MPI_BYTE, kBogusType};
      const std::array<int, 3> sent_counts{1, 2, kBogusCount};
      const std::array<int, 3> received_counts{1, 16, kBogusCount};
      const std::array<MPI_Aint, 2> starts{0, 32};
      MEGASCOPE_BOTH(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, out.data(),
                     sent_counts.data(), starts.data(), sent.data(), in.data(),
                     received_counts.data(), starts.data(), received.data(), ring);
      MEGASCOPE_BOTH(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, out.data(), 1, shorts,
                     in.data(), 2, MPI_SHORT, ring);
      MPI_Type_free(&shorts);
      MPI_Comm_free(&ring);
    },
    [](const Who&) -> Lines {
      return Lines{
                 "MPI_Dist_graph_create_adjacent on world | coll #0 sent 0 received 0; created "
                 "ring",
                 "MPI_Comm_set_name on ring", "MPI_Type_vector", "MPI_Type_commit"} +
             Pairs("ring")
                 .add("Neighbor_alltoallw", "", 4 + 16, 4 + 16)
                 .add("Neighbor_allgather", "", 2 * 4, 2 * 4) +
             Lines{"MPI_Type_free", "MPI_Comm_free on ring | ended ring"};
    });

/// One rank is both its neighbours, one of two is both of the other's.
const Scenario kAround(
    "MpiNeighborAlltoall.OnACircleHasTwoBlocksHoweverFewRanks",
    [](const Who& me) {
      MPI_Comm cycle = make_line(me, true);
      MPI_Comm_set_name(cycle, "circle");
      gather_ints(cycle);
      const std::array<int, 3> counts{3, 3, kBogusCount};
      const std::array<int, 2> starts{0, 3};
      const std::array<int, 6> out{};
      std::array<int, 6> in{};
      MEGASCOPE_BOTH(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, out.data(), counts.data(),
                     starts.data(), MPI_INT, in.data(), counts.data(), starts.data(), MPI_INT,
                     cycle);
      MPI_Comm_free(&cycle);
    },
    [](const Who&) -> Lines {
      return Lines{"MPI_Cart_create on world | coll #0 sent 0 received 0; created circle",
                   "MPI_Comm_set_name on circle"} +
             Pairs("circle")
                 .add("Neighbor_allgather", "", 16, 16)
                 .add("Neighbor_alltoallv", "", 24, 24) +
             Lines{"MPI_Comm_free on circle | ended circle"};
    });

/// A duplicate has the topology; a row of a grid has its own.
const Scenario kMade(
    "MpiNeighborAllgather.OnDuplicatesAndPartsOfAGrid",
    [](const Who& me) {
      MPI_Comm line = make_line(me, false);
      MPI_Comm_set_name(line, "line");
      MPI_Comm dup;
      MPI_Comm_dup(line, &dup);
      MPI_Comm_set_name(dup, "dup of line");
      MPI_Comm idup;
      MPI_Request request;
      MPI_Comm_idup(line, &idup, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Comm_set_name(idup, "idup of line");
      for (MPI_Comm comm : {dup, idup}) gather_ints(comm);
      const int columns = me.size == 1 ? 1 : 2;
      const std::array<int, 2> dimensions{me.size / columns, columns};
      const std::array<int, 2> periods{1, 0};
      const std::array<int, 2> keep{0, 1};
      MPI_Comm grid;
      MPI_Comm row;
      MPI_Cart_create(line, 2, dimensions.data(), periods.data(), 0, &grid);
      MPI_Comm_set_name(grid, "grid of line");
      MPI_Cart_sub(grid, keep.data(), &row);
      MPI_Comm_set_name(row, "row of grid");
      gather_ints(row);
      for (MPI_Comm* comm : {&row, &grid, &idup, &dup, &line}) MPI_Comm_free(comm);
    },
    [](const Who& me) -> Lines {
      const int bytes = 8 * degree(me);
      const int row_bytes = me.size == 1 ? 0 : 8;  // the other of two columns
      return Lines{"MPI_Cart_create on world | coll #0 sent 0 received 0; created line",
                   "MPI_Comm_set_name on line",
                   "MPI_Comm_dup on line | coll #0 sent 0 received 0; created dup of line",
                   "MPI_Comm_set_name on dup of line",
                   "MPI_Comm_idup on line | icoll r1 #1 sent 0 received 0; created idup of line",
                   "MPI_Wait | done r1 in line #1 sent 0 received 0",
                   "MPI_Comm_set_name on idup of line"} +
             Pairs("dup of line", 0, 2).add("Neighbor_allgather", "", bytes, bytes) +
             Pairs("idup of line", 0, 3).add("Neighbor_allgather", "", bytes, bytes) +
             Lines{"MPI_Cart_create on line | coll #2 sent 0 received 0; created grid of line",
                   "MPI_Comm_set_name on grid of line",
                   "MPI_Cart_sub on grid of line | coll #0 sent 0 received 0; created row of grid",
                   "MPI_Comm_set_name on row of grid"} +
             Pairs("row of grid", 0, 4).add("Neighbor_allgather", "", row_bytes, row_bytes) +
             Lines{"MPI_Comm_free on row of grid | ended row of grid",
                   "MPI_Comm_free on grid of line | ended grid of line",
                   "MPI_Comm_free on idup of line | ended idup of line",
                   "MPI_Comm_free on dup of line | ended dup of line",
                   "MPI_Comm_free on line | ended line"};
    });

constexpr int kRounds = 10;

/// A line that ends, a circle, and a graph without edges take turns.
const Scenario kReuse(
    "MpiNeighborAllgather.KnowsTheNeighboursOfTheCommunicatorThatTheHandleIsNow",
    [](const Who& me) {
      std::set<MPI_Comm> handles;
      for (int i = 0; i < kRounds; ++i) {
        for (const bool goes_around : {false, true}) {
          MPI_Comm comm = make_line(me, goes_around);
          MPI_Comm_set_name(comm, text("turn %d %d", i, goes_around ? 1 : 0).c_str());
          handles.insert(comm);
          gather_ints(comm);
          MPI_Comm_free(&comm);
        }
        const std::vector<int> no_edges(at(me.size), 0);
        MPI_Comm graph;
        MPI_Graph_create(MPI_COMM_WORLD, me.size, no_edges.data(), no_edges.data(), 0, &graph);
        MPI_Comm_set_name(graph, text("turn %d 2", i).c_str());
        handles.insert(graph);
        gather_ints(graph);
        MPI_Comm_free(&graph);
      }
      expect(handles.size() < kRounds, "handles come back");
    },
    [](const Who& me) -> Lines {
      Lines lines;
      const std::array<const char*, 3> makers{"MPI_Cart_create", "MPI_Cart_create",
                                              "MPI_Graph_create"};
      const std::array<int, 3> bytes{8 * degree(me), 16, 0};
      for (int turn = 0; turn < 3 * kRounds; ++turn) {
        const std::string name = text("turn %d %d", turn / 3, turn % 3);
        lines.push_back(text("%s on world | coll #%d sent 0 received 0; created %s",
                             makers[at(turn % 3)], turn, name.c_str()));
        lines.push_back("MPI_Comm_set_name on " + name);
        lines = lines +
                Pairs(name, 0, turn + 1)
                    .add("Neighbor_allgather", "", bytes[at(turn % 3)], bytes[at(turn % 3)]);
        lines.push_back("MPI_Comm_free on " + name + " | ended " + name);
      }
      return lines;
    });

const Scenario kNothing(
    "MpiNeighborCollectives.OfNothingHaveNoBytes",
    [](const Who& me) {
      MPI_Comm cycle = make_line(me, true);
      MPI_Comm_set_name(cycle, "empty circle");
      MPI_Datatype empty;
      MPI_Type_contiguous(0, MPI_INT, &empty);
      MPI_Type_commit(&empty);
      const std::array<int, 2> no{0, 0};
      const std::array<MPI_Aint, 2> starts{0, 0};
      const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_DOUBLE};
      const std::array<MPI_Datatype, 2> empties{empty, empty};
      const std::array<int, 2> five{5, 5};
      char out = 0;
      char in = 0;
      MEGASCOPE_BOTH(MPI_Neighbor_allgather, MPI_Ineighbor_allgather, &out, 4, empty, &in, 4, empty,
                     cycle);
      MEGASCOPE_BOTH(MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, &out, 0, MPI_INT, &in, 0,
                     MPI_INT, cycle);
      MEGASCOPE_BOTH(MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, &out, 0, MPI_INT, &in,
                     no.data(), no.data(), MPI_INT, cycle);
      MEGASCOPE_BOTH(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, &out, no.data(),
                     starts.data(), types.data(), &in, no.data(), starts.data(), types.data(),
                     cycle);
      MEGASCOPE_BOTH(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, &out, five.data(),
                     starts.data(), empties.data(), &in, five.data(), starts.data(), empties.data(),
                     cycle);
      MPI_Type_free(&empty);
      MPI_Comm_free(&cycle);
    },
    [](const Who&) -> Lines {
      Pairs pairs("empty circle");
      for (const char* name : {"allgather", "alltoall", "allgatherv", "alltoallw", "alltoallw"}) {
        pairs.add(text("Neighbor_%s", name).c_str(), "", 0, 0);
      }
      return Lines{"MPI_Cart_create on world | coll #0 sent 0 received 0; created empty circle",
                   "MPI_Comm_set_name on empty circle", "MPI_Type_contiguous", "MPI_Type_commit"} +
             pairs + Lines{"MPI_Type_free", "MPI_Comm_free on empty circle | ended empty circle"};
    });

const int kNoTopology = faults::is_mpich() ? MPI_ERR_TOPOLOGY : MPI_ERR_ARG;

/// Without a topology there are no neighbours; MPI says so to rank 0, which alone asks. Of the
/// blocking form Open MPI reports an internal error, which does not tell whether anything has
/// begun.
const Scenario kNone(
    "MpiIneighborAllgather.WithoutATopologyIsAnErrorAndNotCounted",
    [](const Who& me) {
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Request request = MPI_REQUEST_NULL;
      int out = 0;
      std::array<int, 4> in{};
      if (me.rank == 0) {
        const int rc = MPI_Ineighbor_allgather(&out, 1, MPI_INT, in.data(), 1, MPI_INT,
                                               MPI_COMM_WORLD, &request);
        expect(error_class(rc) == kNoTopology, "no topology");
      }
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
      MPI_Barrier(MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      Lines lines = {"MPI_Comm_set_errhandler on world"};
      if (me.rank == 0) {
        lines.push_back(text("MPI_Ineighbor_allgather on world | error %d", kNoTopology));
      }
      return lines + Lines{"MPI_Comm_set_errhandler on world",
                           "MPI_Barrier on world | coll #0 sent 0 received 0"};
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
