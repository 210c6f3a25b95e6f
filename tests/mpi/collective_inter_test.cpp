#include "tests/mpi/collective.h"

#include <array>

/// Collectives on an intercommunicator: between the even world ranks (group A) and the odd ones
/// (group B), which have the same size Q. Rooted ones go from one group to a root in the other: the
/// root says MPI_ROOT, the others of its group MPI_PROC_NULL, and the other group names the root.
/// MPI-4.1 §6.2.3. No rank exchanges anything with its own group.
namespace megascope::mpitest {
namespace {

bool is_in_a(const Who& me) { return me.rank % 2 == 0; }
int group_size(const Who& me) { return me.size / 2; }

/// Both groups and the intercommunicator. Names are given before anything else, so that lines show
/// them.
struct Bridge {
  explicit Bridge(const Who& me) {
    MPI_Comm_split(MPI_COMM_WORLD, me.rank % 2, me.rank, &local);
    MPI_Comm_set_name(local, "local");
    MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, is_in_a(me) ? 1 : 0, 77, &inter);
    MPI_Comm_set_name(inter, "inter");
    MPI_Comm_free(&local);
  }
  ~Bridge() { MPI_Comm_free(&inter); }
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm inter = MPI_COMM_NULL;
};

/// In the lines, communicators of all scenarios have the same names; what is told of them is the
/// last one's.
Lines between(const Lines& collectives) {
  Lines lines = {"MPI_Comm_split on world | coll #0 sent 0 received 0; created local",
                 "MPI_Comm_set_name on local", "MPI_Intercomm_create on local | created inter",
                 "MPI_Comm_set_name on inter", "MPI_Comm_free on local | ended local"};
  lines.insert(lines.end(), collectives.begin(), collectives.end());
  lines.emplace_back("MPI_Comm_free on inter | ended inter");
  return lines;
}

/// The root argument when the root is the last of group B: what each rank passes, and how it is
/// told.
int root_in_b(const Who& me) {
  if (is_in_a(me)) return group_size(me) - 1;
  return me.rank == me.size - 1 ? MPI_ROOT : MPI_PROC_NULL;
}
std::string root_in_b_text(const Who& me) {
  if (is_in_a(me)) return text("root %d", group_size(me) - 1);
  return me.rank == me.size - 1 ? "root self" : "root null";
}
bool is_root(const Who& me) { return me.rank == me.size - 1; }

const Scenario kBarrier(
    "MpiBarrier.BetweenTwoGroupsHasNoBytes",
    [](const Who& me) {
      const Bridge bridge(me);
      MEGASCOPE_BOTH(MPI_Barrier, MPI_Ibarrier, bridge.inter);
    },
    [](const Who&) -> Lines { return between(Pairs("inter").add("Barrier", "", 0, 0)); }, {2, 4});

const Scenario kBcast(
    "MpiBcast.GoesFromTheRootToTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 3> data{};
      if (is_root(me)) data[2] = 5;
      const bool is_idle = root_in_b(me) == MPI_PROC_NULL;
      void* buffer = is_idle ? kBogusBuffer : data.data();
      const int count = is_idle ? 777 : 3;  // ignored as well, but checked by Open MPI
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, buffer, count, MPI_INT, root_in_b(me), bridge.inter);
      expect(!is_in_a(me) || data[2] == 5, "the other group has the data");
    },
    [](const Who& me) -> Lines {
      const int sent = is_root(me) ? group_size(me) * 12 : 0;
      return between(Pairs("inter").add("Bcast", root_in_b_text(me), sent, is_in_a(me) ? 12 : 0));
    },
    {2, 4});

const Scenario kGather(
    "MpiGather.ComesFromTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 2> out{me.rank, me.rank};
      std::array<int, 8> in{};
      const std::array<int, 2> counts{2, 1};  // the last of A, with four ranks, sends but one
      const std::array<int, 2> starts{0, 2};
      const int root = root_in_b(me);
      if (is_in_a(me)) {
        MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, out.data(), 2, MPI_INT, kBogusBuffer, kBogusCount,
                       kBogusType, root, bridge.inter);
        MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, out.data(), counts[at(me.rank / 2)], MPI_INT,
                       kBogusBuffer, kBogusCounts, kBogusCounts, kBogusType, root, bridge.inter);
      } else if (is_root(me)) {
        MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, kBogusBuffer, kBogusCount, kBogusType, in.data(), 2,
                       MPI_INT, root, bridge.inter);
        expect(in[at(2 * group_size(me) - 1)] == me.size - 2, "the last of A");
        MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, kBogusBuffer, kBogusCount, kBogusType, in.data(),
                       counts.data(), starts.data(), MPI_INT, root, bridge.inter);
      } else {
        MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, kBogusBuffer, kBogusCount, kBogusType, kBogusBuffer,
                       kBogusCount, kBogusType, root, bridge.inter);
        MEGASCOPE_BOTH(MPI_Gatherv, MPI_Igatherv, kBogusBuffer, kBogusCount, kBogusType,
                       kBogusBuffer, kBogusCounts, kBogusCounts, kBogusType, root, bridge.inter);
      }
    },
    [](const Who& me) -> Lines {
      const std::string root = root_in_b_text(me);
      const int all = me.size == 2 ? 8 : 12;
      const int own = !is_in_a(me) ? 0 : me.rank == 0 ? 8 : 4;
      return between(
          Pairs("inter")
              .add("Gather", root, is_in_a(me) ? 8 : 0, is_root(me) ? group_size(me) * 8 : 0)
              .add("Gatherv", root, own, is_root(me) ? all : 0));
    },
    {2, 4});

const Scenario kScatter(
    "MpiScatter.GoesToTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 4> out{4, 5, 6, 7};
      std::array<int, 4> in{};
      const std::array<int, 2> counts{2, 1};
      const std::array<int, 2> starts{0, 2};
      const int root = root_in_b(me);
      if (is_in_a(me)) {
        MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, kBogusBuffer, kBogusCount, kBogusType, in.data(),
                       2, MPI_INT, root, bridge.inter);
        expect(in[1] == 5 + me.rank, "one's own block");
        MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, kBogusBuffer, kBogusCounts, kBogusCounts,
                       kBogusType, in.data(), counts[at(me.rank / 2)], MPI_INT, root, bridge.inter);
      } else if (is_root(me)) {
        MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, out.data(), 2, MPI_INT, kBogusBuffer, kBogusCount,
                       kBogusType, root, bridge.inter);
        MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, out.data(), counts.data(), starts.data(),
                       MPI_INT, kBogusBuffer, kBogusCount, kBogusType, root, bridge.inter);
      } else {
        MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, kBogusBuffer, kBogusCount, kBogusType,
                       kBogusBuffer, kBogusCount, kBogusType, root, bridge.inter);
        MEGASCOPE_BOTH(MPI_Scatterv, MPI_Iscatterv, kBogusBuffer, kBogusCounts, kBogusCounts,
                       kBogusType, kBogusBuffer, kBogusCount, kBogusType, root, bridge.inter);
      }
    },
    [](const Who& me) -> Lines {
      const std::string root = root_in_b_text(me);
      const int all = me.size == 2 ? 8 : 12;
      const int own = !is_in_a(me) ? 0 : me.rank == 0 ? 8 : 4;
      return between(
          Pairs("inter")
              .add("Scatter", root, is_root(me) ? group_size(me) * 8 : 0, is_in_a(me) ? 8 : 0)
              .add("Scatterv", root, is_root(me) ? all : 0, own));
    },
    {2, 4});

const Scenario kReduce(
    "MpiReduce.ComesFromTheOtherGroup",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 5> out{1, 1, 1, 1, 1};
      std::array<int, 5> in{};
      const void* sendbuf = is_in_a(me) ? out.data() : kBogusBuffer;
      void* recvbuf = is_root(me) ? in.data() : kBogusBuffer;
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, sendbuf, recvbuf, 5, MPI_INT, MPI_SUM, root_in_b(me),
                     bridge.inter);
      expect(!is_root(me) || in[4] == group_size(me), "the sum over the other group");
    },
    [](const Who& me) -> Lines {
      return between(Pairs("inter").add("Reduce", root_in_b_text(me), is_in_a(me) ? 20 : 0,
                                        is_root(me) ? group_size(me) * 20 : 0));
    },
    {2, 4});

/// A has blocks of one int, B of three: each sends its own to all of the other group.
const Scenario kAllgather(
    "MpiAllgather.ExchangesBlocksOfTwoSizes",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 3> out{me.rank, me.rank, me.rank};
      std::array<int, 6> in{};
      const int mine = is_in_a(me) ? 1 : 3;
      const int theirs = is_in_a(me) ? 3 : 1;
      const std::array<int, 2> counts{theirs, theirs};
      const std::array<int, 2> starts{0, theirs};
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, out.data(), mine, MPI_INT, in.data(), theirs,
                     MPI_INT, bridge.inter);
      expect(in[0] == (is_in_a(me) ? 1 : 0), "the first of the other group");
      MEGASCOPE_BOTH(MPI_Allgatherv, MPI_Iallgatherv, out.data(), mine, MPI_INT, in.data(),
                     counts.data(), starts.data(), MPI_INT, bridge.inter);
    },
    [](const Who& me) -> Lines {
      const int sent = group_size(me) * (is_in_a(me) ? 4 : 12);
      const int received = group_size(me) * (is_in_a(me) ? 12 : 4);
      return between(Pairs("inter")
                         .add("Allgather", "", sent, received)
                         .add("Allgatherv", "", sent, received));
    },
    {2, 4});

const Scenario kAlltoall(
    "MpiAlltoall.ExchangesBlocksBetweenTheGroups",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 8> out{};
      std::array<int, 8> in{};
      const int mine = is_in_a(me) ? 1 : 3;
      const int theirs = is_in_a(me) ? 3 : 1;
      const std::array<int, 2> sendcounts{mine, mine};
      const std::array<int, 2> recvcounts{theirs, theirs};
      const std::array<int, 2> sendstarts{0, 4};
      const std::array<int, 2> recvstarts{0, 4};
      const std::array<int, 2> byte_starts{0, 16};
      const std::array<MPI_Datatype, 2> types{MPI_INT, MPI_INT};
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, out.data(), mine, MPI_INT, in.data(), theirs,
                     MPI_INT, bridge.inter);
      MEGASCOPE_BOTH(MPI_Alltoallv, MPI_Ialltoallv, out.data(), sendcounts.data(),
                     sendstarts.data(), MPI_INT, in.data(), recvcounts.data(), recvstarts.data(),
                     MPI_INT, bridge.inter);
      MEGASCOPE_BOTH(MPI_Alltoallw, MPI_Ialltoallw, out.data(), sendcounts.data(),
                     byte_starts.data(), types.data(), in.data(), recvcounts.data(),
                     byte_starts.data(), types.data(), bridge.inter);
    },
    [](const Who& me) -> Lines {
      const int sent = group_size(me) * (is_in_a(me) ? 4 : 12);
      const int received = group_size(me) * (is_in_a(me) ? 12 : 4);
      return between(Pairs("inter")
                         .add("Alltoall", "", sent, received)
                         .add("Alltoallv", "", sent, received)
                         .add("Alltoallw", "", sent, received));
    },
    {2, 4});

/// Each sends its vector to all of the other group. Of a scattered one, each block to the rank
/// whose it is: counts are of one's own group, which is to receive as many elements as the other
/// sends.
const Scenario kAllreduce(
    "MpiAllreduce.ReducesWhatTheOtherGroupSends",
    [](const Who& me) {
      const Bridge bridge(me);
      std::array<int, 4> out{1, 1, 1, 1};
      std::array<int, 4> in{};
      const std::array<int, 2> counts = me.size == 2 ? std::array{4, kBogusCount}
                                                     : std::array{3, 1};
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, out.data(), in.data(), 4, MPI_INT, MPI_SUM,
                     bridge.inter);
      expect(in[3] == group_size(me), "the sum over the other group");
      MEGASCOPE_BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, out.data(), in.data(), counts.data(),
                     MPI_INT, MPI_SUM, bridge.inter);
      MEGASCOPE_BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out.data(), in.data(), 2,
                     MPI_INT, MPI_SUM, bridge.inter);
    },
    [](const Who& me) -> Lines {
      const int own = me.size == 2 ? 16 : me.rank < 2 ? 12 : 4;
      return between(Pairs("inter")
                         .add("Allreduce", "", group_size(me) * 16, group_size(me) * 16)
                         .add("Reduce_scatter", "", 16, group_size(me) * own)
                         .add("Reduce_scatter_block", "", group_size(me) * 8, group_size(me) * 8));
    },
    {2, 4});

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
