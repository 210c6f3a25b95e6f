#include "tests/mpi/collective.h"

#include <array>

/// Collectives with equal blocks. P ranks; the root is the last of them. What MPI ignores is bogus.
namespace megascope::mpitest {
namespace {

const Scenario kBarrier(
    "MpiBarrier.IsACollectiveWithoutBytes",
    [](const Who&) { MEGASCOPE_BOTH(MPI_Barrier, MPI_Ibarrier, MPI_COMM_WORLD); },
    [](const Who&) -> Lines { return Pairs().add("Barrier", "", 0, 0); });

const Scenario kBcast(
    "MpiBcast.TheRootSendsToAllAndAllReceive",
    [](const Who& me) {
      const int root = me.size - 1;
      std::array<int, 10> data{};
      if (me.rank == root) data[9] = 9;
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, data.data(), 10, MPI_INT, root, MPI_COMM_WORLD);
      expect(data[9] == 9, "the root's data arrives");
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, nullptr, 0, MPI_INT, 0, MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      const int root = me.size - 1;
      return Pairs()
          .add("Bcast", text("root %d", root), me.rank == root ? me.size * 40 : 0, 40)
          .add("Bcast", "root 0", 0, 0);
    });

const Scenario kGather(
    "MpiGather.OthersReceiveArgumentsAreNotRead",
    [](const Who& me) {
      const int root = me.size - 1;
      const bool is_root = me.rank == root;
      std::array<int, 3> out{me.rank, 1, 2};
      std::array<short, 24> in{};
      void* recvbuf = is_root ? in.data() : kBogusBuffer;
      const int recvcount = is_root ? 6 : kBogusCount;
      MPI_Datatype recvtype = is_root ? MPI_SHORT : kBogusType;
      MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, out.data(), 3, MPI_INT, recvbuf, recvcount, recvtype,
                     root, MPI_COMM_WORLD);
      expect(!is_root || in[at(6 * root)] == root, "the last block is the root's own");
      if (is_root) {
        MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, MPI_IN_PLACE, kBogusCount, kBogusType, in.data(), 6,
                       MPI_SHORT, root, MPI_COMM_WORLD);
      } else {
        MEGASCOPE_BOTH(MPI_Gather, MPI_Igather, out.data(), 3, MPI_INT, kBogusBuffer, kBogusCount,
                       kBogusType, root, MPI_COMM_WORLD);
      }
    },
    [](const Who& me) -> Lines {
      const bool is_root = me.rank == me.size - 1;
      const std::string root = text("root %d", me.size - 1);
      return Pairs()
          .add("Gather", root, 12, is_root ? me.size * 12 : 0)
          .add("Gather", root, is_root ? 0 : 12, is_root ? (me.size - 1) * 12 : 0);
    });

const Scenario kScatter(
    "MpiScatter.OthersSendArgumentsAreNotRead",
    [](const Who& me) {
      const int root = me.size - 1;
      const bool is_root = me.rank == root;
      std::array<double, 8> out{0, 0, 1, 1, 2, 2, 3, 3};
      std::array<double, 2> in{};
      if (is_root) {
        MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, out.data(), 2, MPI_DOUBLE, in.data(), 2,
                       MPI_DOUBLE, root, MPI_COMM_WORLD);
        MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, out.data(), 2, MPI_DOUBLE, MPI_IN_PLACE,
                       kBogusCount, kBogusType, root, MPI_COMM_WORLD);
      } else {
        for (int round = 0; round < 2; ++round) {
          MEGASCOPE_BOTH(MPI_Scatter, MPI_Iscatter, kBogusBuffer, kBogusCount, kBogusType,
                         in.data(), 2, MPI_DOUBLE, root, MPI_COMM_WORLD);
        }
      }
      expect(in[1] == me.rank, "one's own block arrives");
    },
    [](const Who& me) -> Lines {
      const bool is_root = me.rank == me.size - 1;
      const std::string root = text("root %d", me.size - 1);
      return Pairs()
          .add("Scatter", root, is_root ? me.size * 16 : 0, 16)
          .add("Scatter", root, is_root ? (me.size - 1) * 16 : 0, is_root ? 0 : 16);
    });

const Scenario kAllgather(
    "MpiAllgather.EachSendsItsBlockToAll",
    [](const Who& me) {
      std::array<int, 2> out{me.rank, 5};
      std::array<int, 8> in{};
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, out.data(), 2, MPI_INT, in.data(), 8, MPI_BYTE,
                     MPI_COMM_WORLD);
      expect(in[1] == 5, "blocks arrive");
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, MPI_IN_PLACE, kBogusCount, kBogusType,
                     in.data(), 2, MPI_INT, MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      return Pairs()
          .add("Allgather", "", me.size * 8, me.size * 8)
          .add("Allgather", "", (me.size - 1) * 8, (me.size - 1) * 8);
    });

const Scenario kAlltoall(
    "MpiAlltoall.EachSendsABlockToEach",
    [](const Who& me) {
      std::array<long, 12> out{};
      std::array<long, 12> in{};
      out[at(3 * me.next())] = 7;
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, out.data(), 3, MPI_LONG, in.data(), 3, MPI_LONG,
                     MPI_COMM_WORLD);
      expect(in[at(3 * me.previous())] == 7, "blocks arrive");
      // Open MPI's MPI_Ialltoall looks at the type that it ignores: it has to be one.
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, MPI_IN_PLACE, kBogusCount, MPI_DATATYPE_NULL,
                     in.data(), 3, MPI_LONG, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Alltoall, MPI_Ialltoall, nullptr, 0, MPI_LONG, nullptr, 0, MPI_LONG,
                     MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      return Pairs()
          .add("Alltoall", "", me.size * 24, me.size * 24)
          .add("Alltoall", "", (me.size - 1) * 24, (me.size - 1) * 24)
          .add("Alltoall", "", 0, 0);
    });

const Scenario kReduce(
    "MpiReduce.EachSendsToTheRoot",
    [](const Who& me) {
      const bool is_root = me.rank == 0;
      std::array<int, 5> out{1, 1, 1, 1, 1};
      std::array<int, 5> in{1, 1, 1, 1, 1};
      void* recvbuf = is_root ? in.data() : kBogusBuffer;
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, out.data(), recvbuf, 5, MPI_INT, MPI_SUM, 0,
                     MPI_COMM_WORLD);
      expect(!is_root || in[4] == me.size, "the sum");
      const void* sendbuf = is_root ? MPI_IN_PLACE : out.data();
      MEGASCOPE_BOTH(MPI_Reduce, MPI_Ireduce, sendbuf, recvbuf, 5, MPI_INT, MPI_MAX, 0,
                     MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      const bool is_root = me.rank == 0;
      return Pairs()
          .add("Reduce", "root 0", 20, is_root ? me.size * 20 : 0)
          .add("Reduce", "root 0", is_root ? 0 : 20, is_root ? (me.size - 1) * 20 : 0);
    });

const Scenario kAllreduce(
    "MpiAllreduce.EachSendsToAll",
    [](const Who& me) {
      std::array<double, 4> out{1, 2, 3, 4};
      std::array<double, 4> in{};
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, out.data(), in.data(), 4, MPI_DOUBLE, MPI_SUM,
                     MPI_COMM_WORLD);
      expect(in[3] == 4 * me.size, "the sum");
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, MPI_IN_PLACE, in.data(), 4, MPI_DOUBLE, MPI_MIN,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Allreduce, MPI_Iallreduce, nullptr, nullptr, 0, MPI_DOUBLE, MPI_SUM,
                     MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      return Pairs()
          .add("Allreduce", "", me.size * 32, me.size * 32)
          .add("Allreduce", "", (me.size - 1) * 32, (me.size - 1) * 32)
          .add("Allreduce", "", 0, 0);
    });

const Scenario kReduceScatterBlock(
    "MpiReduceScatterBlock.EachSendsABlockToEach",
    [](const Who& me) {
      std::array<int, 8> out{1, 1, 1, 1, 1, 1, 1, 1};
      std::array<int, 8> in{};
      MEGASCOPE_BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out.data(), in.data(), 2,
                     MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      expect(in[1] == me.size, "the sum");
      MEGASCOPE_BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPI_IN_PLACE, out.data(),
                     2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      return Pairs()
          .add("Reduce_scatter_block", "", me.size * 8, me.size * 8)
          .add("Reduce_scatter_block", "", (me.size - 1) * 8, (me.size - 1) * 8);
    });

const Scenario kScan(
    "MpiScan.EachSendsToThoseBehindItAndReceivesFromThoseBefore",
    [](const Who& me) {
      std::array<int, 6> out{1, 1, 1, 1, 1, 1};
      std::array<int, 6> in{};
      MEGASCOPE_BOTH(MPI_Scan, MPI_Iscan, out.data(), in.data(), 6, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD);
      expect(in[5] == me.rank + 1, "the sum so far");
      MEGASCOPE_BOTH(MPI_Scan, MPI_Iscan, MPI_IN_PLACE, in.data(), 6, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Exscan, MPI_Iexscan, out.data(), in.data(), 6, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Exscan, MPI_Iexscan, MPI_IN_PLACE, in.data(), 6, MPI_INT, MPI_SUM,
                     MPI_COMM_WORLD);
    },
    [](const Who& me) -> Lines {
      const int behind = me.size - 1 - me.rank;
      return Pairs()
          .add("Scan", "", (behind + 1) * 24, (me.rank + 1) * 24)
          .add("Scan", "", behind * 24, me.rank * 24)
          .add("Exscan", "", behind * 24, me.rank * 24)
          .add("Exscan", "", behind * 24, me.rank * 24);
    });

const Scenario kOneSequence(
    "MpiIbarrier.SharesOneSequenceWithBlockingCollectives",
    [](const Who&) {
      std::array<MPI_Request, 2> requests;
      int value = 1;
      int flag = 0;
      MPI_Ibarrier(MPI_COMM_WORLD, requests.data());
      MPI_Barrier(MPI_COMM_SELF);
      MPI_Ibcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[1]);
      MPI_Barrier(MPI_COMM_SELF);
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
      MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
    },
    [](const Who& me) -> Lines {
      const int sent = me.rank == 0 ? me.size * 4 : 0;
      return {"MPI_Ibarrier on world | icoll r1 #0 sent 0 received 0",
              "MPI_Barrier on self | coll #0 sent 0 received 0",
              text("MPI_Ibcast on world | icoll r2 #1 root 0 sent %d received 4", sent),
              "MPI_Barrier on self | coll #1 sent 0 received 0",
              text("MPI_Waitall | done r1 in world #0 sent 0 received 0; done r2 in world #1 root "
                   "0 sent %d received 4",
                   sent),
              "MPI_Testall"};
    });

const Scenario kTypes(
    "MpiAllgather.CountsDataWithoutTheGapsOfItsTypes",
    [](const Who&) {
      MPI_Datatype gaps;  // three ints, in the space of nine
      MPI_Type_vector(3, 1, 4, MPI_INT, &gaps);
      MPI_Type_commit(&gaps);
      MPI_Datatype empty;
      MPI_Type_contiguous(0, MPI_INT, &empty);
      MPI_Type_commit(&empty);
      std::array<int, 9> out{1, 0, 0, 0, 2, 0, 0, 0, 3};
      std::array<int, 12> in{};
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, out.data(), 1, gaps, in.data(), 3, MPI_INT,
                     MPI_COMM_WORLD);
      expect(in[0] == 1 && in[1] == 2 && in[2] == 3, "the data without the gaps");
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, out.data(), 1, gaps, 0, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Bcast, MPI_Ibcast, out.data(), 5, empty, 0, MPI_COMM_WORLD);
      MEGASCOPE_BOTH(MPI_Allgather, MPI_Iallgather, out.data(), 5, empty, in.data(), 0, MPI_INT,
                     MPI_COMM_WORLD);
      MPI_Type_free(&empty);
      MPI_Type_free(&gaps);
    },
    [](const Who& me) -> Lines {
      return Pairs()
          .line("MPI_Type_vector")
          .line("MPI_Type_commit")
          .line("MPI_Type_contiguous")
          .line("MPI_Type_commit")
          .add("Allgather", "", me.size * 12, me.size * 12)
          .add("Bcast", "root 0", me.rank == 0 ? me.size * 12 : 0, 12)
          .add("Bcast", "root 0", 0, 0)
          .add("Allgather", "", 0, 0)
          .line("MPI_Type_free")
          .line("MPI_Type_free");
    });

const Scenario kLarge(
    "MpiBcast.CountsMoreBytesThanFitInThirtyTwoBits",
    [](const Who&) {
      // Five elements of 1 GiB, and no data: a broadcast to oneself alone moves nothing.
      MPI_Datatype part;
      MPI_Type_contiguous(1 << 30, MPI_BYTE, &part);
      MPI_Type_commit(&part);
      MPI_Bcast(kBogusBuffer, 5, part, 0, MPI_COMM_WORLD);
      MPI_Type_free(&part);
    },
    [](const Who&) -> Lines {
      return {"MPI_Type_contiguous", "MPI_Type_commit",
              "MPI_Bcast on world | coll #0 root 0 sent 5368709120 received 5368709120",
              "MPI_Type_free"};
    },
    {1});

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
