#include "tests/mpi/collective.h"

#include <array>
#include <vector>

/// Collectives on parts of the world, where ranks are others than there; several open at once on
/// several communicators; of nothing; of types whose size is not their extent.
namespace megascope::mpitest {
namespace {

/// Even and odd ranks, the highest first: world rank 0 is the last of its half.
MPI_Comm make_half(const Who& me) {
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, -me.rank, &half);
  MPI_Comm_set_name(half, "half");
  return half;
}
const Lines kMakeHalf = {"MPI_Comm_split on world | coll #0 sent 0 received 0; created half",
                         "MPI_Comm_set_name on half"};
int half_size(const Who& me) { return (me.size + 1) / 2; }
int half_rank(const Who& me) { return half_size(me) - 1 - me.rank / 2; }

Lines operator+(Lines lines, const Lines& others) {
  lines.insert(lines.end(), others.begin(), others.end());
  return lines;
}

/// Blocks of rank + 1 ints; with four ranks a half has two ranks, else one.
const Scenario kRanks(
    "MpiGatherv.CountsByTheRankInItsCommunicator",
    [](const Who& me) {
      MPI_Comm half = make_half(me);
      const int rank = half_rank(me);
      const bool is_root = rank == 0;
      std::array<int, 4> out{};
      std::array<int, 4> in{};
      const std::array<int, 3> counts{1, 2, kBogusCount};
      const std::array<int, 2> starts{0, 1};
      if (is_root) {
        MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, out.data(), 1, MPI_INT, in.data(), counts.data(),
                       starts.data(), MPI_INT, 0, half);
      } else {
        MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, out.data(), 2, MPI_INT, kBogusBuffer,
                       kBogusCounts, kBogusCounts, kBogusType, 0, half);
      }
      MEGASCOPE_BOTH(MPI_Allgatherv, MPI_Iallgatherv, MPI_IN_PLACE, kBogusCount, kBogusType,
                     in.data(), counts.data(), starts.data(), MPI_INT, half);
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, out.data(), 3, MPI_INT, half_size(me) - 1, half);
      MEGASCOPE_BOTH(MPI_Exscan, MPI_Iexscan, out.data(), in.data(), 2, MPI_INT, MPI_SUM, half);
      MPI_Comm_free(&half);
    },
    [](const Who& me) -> Lines {
      const bool has_two = half_size(me) == 2;
      const bool is_first = half_rank(me) == 0;
      const bool is_last = half_rank(me) == half_size(me) - 1;
      const int own = is_first ? 4 : 8;
      const int of_other = !has_two ? 0 : is_first ? 8 : 4;
      return kMakeHalf +
             Pairs("half")
                 .add("Gatherv", "root 0", own, is_first ? (has_two ? 12 : 4) : 0)
                 .add("Allgatherv", "", has_two ? own : 0, of_other)
                 .add("Bcast", has_two ? "root 1" : "root 0", is_last ? half_size(me) * 12 : 0, 12)
                 .add("Exscan", "", is_last ? 0 : 8, is_first ? 0 : 8) +
             Lines{"MPI_Comm_free on half | ended half"};
    });

/// Numbers of collectives are counted on each communicator; requests are completed in another order
/// than started. With four ranks only: on a communicator of one rank all are complete at once and
/// have one handle, which does not tell them apart.
const Scenario kOpen(
    "MpiIbarrier.AndOthersAreOpenOnSeveralCommunicatorsAtOnce",
    [](const Who& me) {
      MPI_Comm half = make_half(me);
      int value = 1;
      std::array<int, 4> all{};
      std::array<MPI_Request, 5> requests;
      MPI_Ibarrier(MPI_COMM_WORLD, requests.data());
      MPI_Ibarrier(half, &requests[1]);
      MPI_Iallgather(&value, 1, MPI_INT, all.data(), 1, MPI_INT, half, &requests[2]);
      MPI_Ibarrier(MPI_COMM_WORLD, &requests[3]);
      MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, half, &requests[4]);
      MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
      std::array<MPI_Request, 3> rest = {requests[2], requests[0], requests[1]};
      MPI_Waitall(3, rest.data(), MPI_STATUSES_IGNORE);
      MPI_Wait(&requests[4], MPI_STATUS_IGNORE);
      MPI_Barrier(half);
      MPI_Comm_free(&half);
    },
    [](const Who& me) -> Lines {
      const int bytes = 4 * half_size(me);
      return kMakeHalf +
             Lines{"MPI_Ibarrier on world | icoll r1 #1 sent 0 received 0",
                   "MPI_Ibarrier on half | icoll r2 #0 sent 0 received 0",
                   text("MPI_Iallgather on half | icoll r3 #1 sent %d received %d", bytes, bytes),
                   "MPI_Ibarrier on world | icoll r4 #2 sent 0 received 0",
                   "MPI_Irecv on half",
                   "MPI_Wait | done r4 in world #2 sent 0 received 0",
                   text("MPI_Waitall | done r3 in half #1 sent %d received %d; done r1 in world #1 "
                        "sent 0 received 0; "
                        "done r2 in half #0 sent 0 received 0",
                        bytes, bytes),
                   "MPI_Wait",
                   "MPI_Barrier on half | coll #2 sent 0 received 0",
                   "MPI_Comm_free on half | ended half"};
    },
    {4});

/// The barrier cannot be complete before rank 0 has started it, which it does when it has heard
/// that all others have tested.
const Scenario kTested(
    "MpiTest.OfAnOpenCollectiveLeavesItOpen",
    [](const Who& me) {
      MPI_Request request;
      int flag = 7;
      int index = 7;
      if (me.rank > 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(flag == 0, "rank 0 is not there");
        MPI_Testany(1, &request, &index, &flag, MPI_STATUS_IGNORE);
        expect(flag == 0, "nor now");
        MPI_Send(&flag, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      } else {
        for (int i = 1; i < me.size; ++i)
          MPI_Recv(&flag, 1, MPI_INT, i, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
      }
      MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
      expect(index == 0, "the barrier");
    },
    [](const Who& me) -> Lines {
      const std::string starts = "MPI_Ibarrier on world | icoll r1 #0 sent 0 received 0";
      const std::string ends = "MPI_Waitany | done r1 in world #0 sent 0 received 0";
      if (me.rank > 0) {
        return {starts, "MPI_Test | tested r1", "MPI_Testany",
                "MPI_Send on world | send to 0 tag 1 bytes 4", ends};
      }
      Lines lines;
      for (int i = 1; i < me.size; ++i)
        lines.push_back(text("MPI_Recv on world | recv from %d tag 1 bytes 4", i));
      return lines + Lines{starts, ends};
    },
    {2, 4});

const Scenario kNothing(
    "MpiCollectives.OfNothingHaveNoBytes",
    [](const Who& me) {
      const std::vector<int> zeros(at(me.size), 0);
      const std::vector<MPI_Datatype> types(at(me.size), MPI_DOUBLE);
      const int* const no = zeros.data();
      MPI_Datatype empty;
      MPI_Type_contiguous(0, MPI_INT, &empty);
      MPI_Type_commit(&empty);
      char byte = 0;
      char other = 0;
      MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, &byte, 0, MPI_INT, &other, 0, MPI_INT, 0,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, &byte, 3, empty, &other, 3, empty, 0,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, &byte, no, no, MPI_INT, &other, 0, MPI_INT, 0,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Allgatherv, MPI_Iallgatherv, &byte, 0, MPI_INT, &other, no, no, MPI_INT,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, &byte, 3, empty, &other, 3, empty,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Alltoallw, MPI_Ialltoallw, &byte, no, no, types.data(), &other, no, no,
                     types.data(), MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, &byte, &other, 0, MPI_CHAR, MPI_SUM, 0,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, &byte, &other, 0,
                     MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Scan, MPI_Iscan, &byte, &other, 0, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Exscan, MPI_Iexscan, &byte, &other, 0, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
      MPI_Type_free(&empty);
    },
    [](const Who&) -> Lines {
      Pairs pairs;
      pairs.line("MPI_Type_contiguous").line("MPI_Type_commit");
      for (const char* name : {"Gather", "Scatter", "Scatterv"}) pairs.add(name, "root 0", 0, 0);
      for (const char* name : {"Allgatherv", "Alltoall", "Alltoallw"}) pairs.add(name, "", 0, 0);
      pairs.add("Reduce", "root 0", 0, 0);
      for (const char* name : {"Reduce_scatter_block", "Scan", "Exscan"}) pairs.add(name, "", 0, 0);
      return pairs.line("MPI_Type_free");
    });

/// A double and an int are 12 bytes in the space of 16; two shorts with a gap between 4 in 6; a
/// resized int 4 in 32.
const Scenario kTypes(
    "MpiReduce.CountsDataWithoutTheGapsOfItsTypes",
    [](const Who& me) {
      struct Pair {
        double value;
        int index;
      };
      std::array<Pair, 2> out{{{1.0 * me.rank, me.rank}, {-1.0 * me.rank, me.rank}}};
      std::array<Pair, 2> in{};
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, out.data(), in.data(), 2, MPI_DOUBLE_INT, MPI_MAXLOC,
                     0, MPI_COMM_WORLD);
      expect(me.rank != 0 || in[0].index == me.size - 1, "where the largest is");
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, out.data(), in.data(), 2, MPI_DOUBLE_INT,
                     MPI_MINLOC, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Scan, MPI_Iscan, out.data(), in.data(), 1, MPI_DOUBLE_INT, MPI_MAXLOC,
                     MPI_COMM_WORLD);
      MPI_Datatype shorts;
      MPI_Datatype spread;
      MPI_Type_vector(2, 1, 2, MPI_SHORT, &shorts);
      MPI_Type_create_resized(MPI_INT, 0, 32, &spread);
      for (MPI_Datatype* type : {&shorts, &spread}) MPI_Type_commit(type);
      std::vector<double> from(64);
      std::vector<double> to(64);
      std::vector<int> counts(at(me.size), 1);
      std::vector<int> starts;
      for (int i = 0; i < me.size; ++i) starts.push_back(i);
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, from.data(), 2, shorts, to.data(), 4, MPI_SHORT,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, from.data(), 1, MPI_INT, to.data(), counts.data(),
                     starts.data(), spread, 0, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Alltoallv, MPI_Ialltoallv, from.data(), counts.data(), starts.data(),
                     spread, to.data(), counts.data(), starts.data(), MPI_INT, MPI_COMM_WORLD);
      for (MPI_Datatype* type : {&shorts, &spread}) MPI_Type_free(type);
    },
    [](const Who& me) -> Lines {
      const bool is_root = me.rank == 0;
      return Pairs()
          .add("Reduce", "root 0", 24, is_root ? me.size * 24 : 0)
          .add("Allreduce", "", me.size * 24, me.size * 24)
          .add("Scan", "", (me.size - me.rank) * 12, (me.rank + 1) * 12)
          .line("MPI_Type_vector")
          .line("MPI_Type_create_resized")
          .line("MPI_Type_commit")
          .line("MPI_Type_commit")
          .add("Alltoall", "", me.size * 8, me.size * 8)
          .add("Gatherv", "root 0", 4, is_root ? me.size * 4 : 0)
          .add("Alltoallv", "", me.size * 4, me.size * 4)
          .line("MPI_Type_free")
          .line("MPI_Type_free");
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
