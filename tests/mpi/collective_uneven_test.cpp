#include "tests/mpi/collective.h"

#include <array>

/// Collectives on an intercommunicator whose groups differ in size: A is world rank 0 alone, B the
/// other three. How many blocks a rank sends and receives is a matter of the other group's size.
/// MPI-4.1 §6.2.3. What A sends in all, B receives, and the other way round: the expected numbers
/// are made so by hand.
namespace megascope::mpitest {
namespace {

bool is_a(const Who& me) { return me.rank == 0; }
/// Rank in B of a rank that is not A.
int in_b(const Who& me) { return me.rank - 1; }

struct Bridge {
  explicit Bridge(const Who& me) {
    MPI_Comm local;
    MPI_Comm_split(MPI_COMM_WORLD, is_a(me) ? 0 : 1, me.rank, &local);
    MPI_Comm_set_name(local, "local");
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_a(me) ? 1 : 0, 78, &inter);
    MPI_Comm_set_name(inter, "inter");
    MPI_Comm_free(&local);
  }
  ~Bridge() { MPI_Comm_free(&inter); }
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  MPI_Comm inter = MPI_COMM_NULL;
};
Lines between(const Lines& collectives) {
  Lines lines = {"MPI_Comm_split on world | coll #0 sent 0 received 0; created local",
                 "MPI_Comm_set_name on local", "MPI_Intercomm_create on local | created inter",
                 "MPI_Comm_set_name on inter", "MPI_Comm_free on local | ended local"};
  lines.insert(lines.end(), collectives.begin(), collectives.end());
  lines.emplace_back("MPI_Comm_free on inter | ended inter");
  return lines;
}

/// What a rank passes as the root, and how that is told: the root is A, or the last of B.
struct Root {
  int argument;
  const char* text;
};
Root root_a(const Who& me) { return is_a(me) ? Root{MPI_ROOT, "root self"} : Root{0, "root 0"}; }
Root root_b(const Who& me) {
  if (is_a(me)) return {2, "root 2"};
  return me.rank == 3 ? Root{MPI_ROOT, "root self"} : Root{MPI_PROC_NULL, "root null"};
}
bool is_root_b(const Who& me) { return me.rank == 3; }

const Scenario kBcast(
    "MpiBcast.GoesToAsManyAsTheOtherGroupHas",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 3> data{};
      for (const Root root : {root_a(me), root_b(me)}) {
        MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, data.data(), 3, MPI_INT, root.argument, bridge.inter);
      }
    },
    [](const Who& me) -> Lines {
      return between(Pairs("inter")
                         .add("Bcast", root_a(me).text, is_a(me) ? 3 * 12 : 0, is_a(me) ? 0 : 12)
                         .add("Bcast", root_b(me).text, is_root_b(me) ? 12 : 0, is_a(me) ? 12 : 0));
    },
    {4});

const Scenario kGather(
    "MpiGather.ComesFromAsManyAsTheOtherGroupHas",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 6> out{};
      std::array<int, 6> in{};
      const std::array<int, 3> counts{1, 2, 3};  // of B
      const std::array<int, 3> starts{0, 1, 3};
      const int five = 5;  // of A
      const int start = 0;
      const bool receives_of_a = is_root_b(me);
      MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, out.data(), 2, MPI_INT, in.data(), 2, MPI_INT,
                     root_a(me).argument, bridge.inter);
      MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, out.data(), 2, MPI_INT, in.data(), 2, MPI_INT,
                     root_b(me).argument, bridge.inter);
      MEGASCOPE_BOTH(
          MPI_Gatherv, MPI_Igatherv, out.data(), is_a(me) ? kBogusCount : counts[at(in_b(me))],
          MPI_INT, in.data(), is_a(me) ? counts.data() : kBogusCounts,
          is_a(me) ? starts.data() : kBogusCounts, MPI_INT, root_a(me).argument, bridge.inter);
      MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, out.data(), is_a(me) ? five : kBogusCount, MPI_INT,
                     in.data(), receives_of_a ? &five : kBogusCounts,
                     receives_of_a ? &start : kBogusCounts, MPI_INT, root_b(me).argument,
                     bridge.inter);
    },
    [](const Who& me) -> Lines {
      return between(
          Pairs("inter")
              .add("Gather", root_a(me).text, is_a(me) ? 0 : 8, is_a(me) ? 3 * 8 : 0)
              .add("Gather", root_b(me).text, is_a(me) ? 8 : 0, is_root_b(me) ? 8 : 0)
              .add("Gatherv", root_a(me).text, is_a(me) ? 0 : 4 * me.rank,
                   is_a(me) ? 4 + 8 + 12 : 0)
              .add("Gatherv", root_b(me).text, is_a(me) ? 20 : 0, is_root_b(me) ? 20 : 0));
    },
    {4});

const Scenario kScatter(
    "MpiScatter.GoesToAsManyAsTheOtherGroupHas",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 6> out{};
      std::array<int, 6> in{};
      const std::array<int, 3> counts{1, 2, 3};
      const std::array<int, 3> starts{0, 1, 3};
      const int five = 5;
      const int start = 0;
      const bool sends_to_a = is_root_b(me);
      MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, out.data(), 2, MPI_INT, in.data(), 2, MPI_INT,
                     root_a(me).argument, bridge.inter);
      MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, out.data(), 2, MPI_INT, in.data(), 2, MPI_INT,
                     root_b(me).argument, bridge.inter);
      MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, out.data(),
                     is_a(me) ? counts.data() : kBogusCounts,
                     is_a(me) ? starts.data() : kBogusCounts, MPI_INT, in.data(),
                     is_a(me) ? kBogusCount : counts[at(in_b(me))], MPI_INT, root_a(me).argument,
                     bridge.inter);
      MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, out.data(), sends_to_a ? &five : kBogusCounts,
                     sends_to_a ? &start : kBogusCounts, MPI_INT, in.data(),
                     is_a(me) ? five : kBogusCount, MPI_INT, root_b(me).argument, bridge.inter);
    },
    [](const Who& me) -> Lines {
      return between(
          Pairs("inter")
              .add("Scatter", root_a(me).text, is_a(me) ? 3 * 8 : 0, is_a(me) ? 0 : 8)
              .add("Scatter", root_b(me).text, is_root_b(me) ? 8 : 0, is_a(me) ? 8 : 0)
              .add("Scatterv", root_a(me).text, is_a(me) ? 4 + 8 + 12 : 0,
                   is_a(me) ? 0 : 4 * me.rank)
              .add("Scatterv", root_b(me).text, is_root_b(me) ? 20 : 0, is_a(me) ? 20 : 0));
    },
    {4});

const Scenario kReduce(
    "MpiReduce.ComesFromAsManyAsTheOtherGroupHas",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 5> out{1, 1, 1, 1, 1};
      std::array<int, 5> in{};
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, out.data(), in.data(), 5, MPI_INT, MPI_SUM,
                     root_a(me).argument, bridge.inter);
      expect(!is_a(me) || in[4] == 3, "the sum of B");
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, out.data(), in.data(), 5, MPI_INT, MPI_SUM,
                     root_b(me).argument, bridge.inter);
      expect(!is_root_b(me) || in[4] == 1, "the sum of A");
    },
    [](const Who& me) -> Lines {
      return between(
          Pairs("inter")
              .add("Reduce", root_a(me).text, is_a(me) ? 0 : 20, is_a(me) ? 3 * 20 : 0)
              .add("Reduce", root_b(me).text, is_a(me) ? 20 : 0, is_root_b(me) ? 20 : 0));
    },
    {4});

/// A has blocks of five ints; B of three, and in the v form of 1, 2 and 3.
const Scenario kAllgather(
    "MpiAllgather.SendsOnesBlockToAllOfTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 5> out{};
      std::array<int, 9> in{};
      const std::array<int, 3> of_b{1, 2, 3};
      const std::array<int, 3> of_a{5, kBogusCount, kBogusCount};
      const std::array<int, 3> starts{0, 1, 3};
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, out.data(), is_a(me) ? 5 : 3, MPI_INT,
                     in.data(), is_a(me) ? 3 : 5, MPI_INT, bridge.inter);
      MEGASCOPE_BOTH(MPI_Allgatherv, MPI_Iallgatherv, out.data(), is_a(me) ? 5 : of_b[at(in_b(me))],
                     MPI_INT, in.data(), is_a(me) ? of_b.data() : of_a.data(), starts.data(),
                     MPI_INT, bridge.inter);
    },
    [](const Who& me) -> Lines {
      if (is_a(me))
        return between(
            Pairs("inter").add("Allgather", "", 3 * 20, 3 * 12).add("Allgatherv", "", 3 * 20, 24));
      return between(
          Pairs("inter").add("Allgather", "", 12, 20).add("Allgatherv", "", 4 * me.rank, 20));
    },
    {4});

/// A sends each of B two ints and gets three; in the v form i + 1 and gets 10 + i; in the w form
/// one int, double or short and gets two.
const Scenario kAlltoall(
    "MpiAlltoall.HasABlockForEachOfTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<double, 64> out{};
      std::array<double, 64> in{};
      const std::array<int, 3> to_b{1, 2, 3};
      const std::array<int, 3> to_a{10, 11, 12};
      const std::array<MPI_Datatype, 3> types{MPI_INT, MPI_DOUBLE, MPI_SHORT};
      const std::array<int, 3> ones{1, 1, 1};
      const std::array<int, 3> twos{2, 2, 2};
      const std::array<int, 3> starts{0, 16, 32};
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, out.data(), is_a(me) ? 2 : 3, MPI_INT, in.data(),
                     is_a(me) ? 3 : 2, MPI_INT, bridge.inter);
      if (is_a(me)) {
        MEGASCOPE_BOTH(MPI_Alltoallv, MPI_Ialltoallv, out.data(), to_b.data(), starts.data(),
                       MPI_INT, in.data(), to_a.data(), starts.data(), MPI_INT, bridge.inter);
        MEGASCOPE_BOTH(MPI_Alltoallw, MPI_Ialltoallw, out.data(), ones.data(), starts.data(),
                       types.data(), in.data(), twos.data(), starts.data(), types.data(),
                       bridge.inter);
      } else {  // one partner: one count, one type
        const int b = in_b(me);
        MEGASCOPE_BOTH(MPI_Alltoallv, MPI_Ialltoallv, out.data(), &to_a[at(b)], starts.data(),
                       MPI_INT, in.data(), &to_b[at(b)], starts.data(), MPI_INT, bridge.inter);
        MEGASCOPE_BOTH(MPI_Alltoallw, MPI_Ialltoallw, out.data(), twos.data(), starts.data(),
                       &types[at(b)], in.data(), ones.data(), starts.data(), &types[at(b)],
                       bridge.inter);
      }
    },
    [](const Who& me) -> Lines {
      if (is_a(me)) {
        return between(Pairs("inter")
                           .add("Alltoall", "", 3 * 8, 3 * 12)
                           .add("Alltoallv", "", 4 + 8 + 12, 40 + 44 + 48)
                           .add("Alltoallw", "", 4 + 8 + 2, 8 + 16 + 4));
      }
      const int element = me.rank == 1 ? 4 : me.rank == 2 ? 8 : 2;
      return between(Pairs("inter")
                         .add("Alltoall", "", 12, 8)
                         .add("Alltoallv", "", 36 + 4 * me.rank, 4 * me.rank)
                         .add("Alltoallw", "", 2 * element, element));
    },
    {4});

/// Of a scattered reduction counts are those of one's own group: six ints for A alone, 1 + 2 + 3 or
/// 2 + 2 + 2 in B. Each rank sends six, and gets its own part from all of the other group.
const Scenario kAllreduce(
    "MpiReduceScatter.HasCountsOfOnesOwnGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 6> out{1, 1, 1, 1, 1, 1};
      std::array<int, 6> in{};
      const std::array<int, 3> of_a{6, kBogusCount, kBogusCount};
      const std::array<int, 3> of_b{1, 2, 3};
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, out.data(), in.data(), 4, MPI_INT, MPI_SUM,
                     bridge.inter);
      expect(in[3] == (is_a(me) ? 3 : 1), "the sum of the other group");
      MEGASCOPE_BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, out.data(), in.data(),
                     is_a(me) ? of_a.data() : of_b.data(), MPI_INT, MPI_SUM, bridge.inter);
      MEGASCOPE_BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out.data(), in.data(),
                     is_a(me) ? 6 : 2, MPI_INT, MPI_SUM, bridge.inter);
    },
    [](const Who& me) -> Lines {
      if (is_a(me)) {
        return between(Pairs("inter")
                           .add("Allreduce", "", 3 * 16, 3 * 16)
                           .add("Reduce_scatter", "", 24, 3 * 24)
                           .add("Reduce_scatter_block", "", 24, 3 * 24));
      }
      return between(Pairs("inter")
                         .add("Allreduce", "", 16, 16)
                         .add("Reduce_scatter", "", 24, 4 * me.rank)
                         .add("Reduce_scatter_block", "", 3 * 8, 8));
    },
    {4});

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
