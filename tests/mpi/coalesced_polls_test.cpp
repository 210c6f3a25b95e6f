#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

/// Tests and probes that find nothing, again and again: one record with the exact number of calls.
namespace megascope::mpitest {
namespace {

const Scenario kTests(
    "Spin.CountsTestsThatFindNothing",
    [](const Who& me) {
      int in = 0;
      int out = me.rank;
      MPI_Request request;
      MPI_Irecv(&in, 1, MPI_INT, me.previous(), 5, MPI_COMM_WORLD, &request);
      int flag = 1;
      for (int i = 0; i < 1000; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      expect(flag == 0, "nothing has been sent");
      for (int i = 0; i < 7; ++i)
        MPI_Iprobe(me.previous(), 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      for (int i = 0; i < 2; ++i) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Send(&out, 1, MPI_INT, me.next(), 5, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(in == me.previous(), "the message");
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Irecv on world | irecv r1 from %d tag 5 space 4", me.previous()),
              "MPI_Test times 1000 | tested r1",
              "MPI_Iprobe on world times 7",
              "MPI_Barrier on world | coll #0 sent 0 received 0",
              "MPI_Test times 2 | tested r1",
              "MPI_Barrier on world | coll #1 sent 0 received 0",
              text("MPI_Send on world | send to %d tag 5 bytes 4", me.next()),
              text("MPI_Wait | received r1 in world from %d tag 5 bytes 4", me.previous())};
    });

const Scenario kBroken(
    "Spin.BreaksARunAtAnotherRequestOrCommunicator",
    [](const Who& me) {
      std::array<int, 2> in{};
      std::array<MPI_Request, 2> requests{};
      MPI_Comm other;
      MPI_Comm_dup(MPI_COMM_WORLD, &other);
      MPI_Comm_set_name(other, "other");
      for (int i = 0; i < 2; ++i) {
        MPI_Irecv(&in[at(i)], 1, MPI_INT, me.previous(), 7, other, &requests[at(i)]);
      }
      int flag = 0;
      for (int i = 0; i < 4; ++i) MPI_Test(&requests[at(i / 2)], &flag, MPI_STATUS_IGNORE);
      for (int i = 0; i < 4; ++i) {
        MPI_Iprobe(me.previous(), 8, i < 2 ? other : MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      }
      int index = 0;
      for (int i = 0; i < 20; ++i)
        MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      for (int i = 0; i < 20; ++i) MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
      int count = 0;
      std::array<int, 2> indices{};
      for (int i = 0; i < 20; ++i)
        MPI_Testsome(2, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
      for (int i = 0; i < 20; ++i) MPI_Request_get_status(requests[0], &flag, MPI_STATUS_IGNORE);
      for (int i = 0; i < 2; ++i) {
        MPI_Cancel(&requests[at(i)]);
        MPI_Wait(&requests[at(i)], MPI_STATUS_IGNORE);
      }
      MPI_Comm_free(&other);
    },
    [](const Who& me) -> Lines {
      const std::string from = text("from %d tag 7 space 4", me.previous());
      return {"MPI_Comm_dup on world | coll #0 sent 0 received 0; created other",
              "MPI_Comm_set_name on other",
              "MPI_Irecv on other | irecv r1 " + from,
              "MPI_Irecv on other | irecv r2 " + from,
              "MPI_Test times 2 | tested r1",
              "MPI_Test times 2 | tested r2",
              "MPI_Iprobe on other times 2",
              "MPI_Iprobe on world times 2",
              "MPI_Testany times 20",
              "MPI_Testall times 20",
              "MPI_Testsome times 20",
              "MPI_Request_get_status times 20 | tested r1",
              "MPI_Cancel | cancels r1",
              "MPI_Wait | cancelled r1",
              "MPI_Cancel | cancels r2",
              "MPI_Wait | cancelled r2",
              "MPI_Comm_free on other | ended other"};
    });

/// As many tests as the tag of a later message says, the last of which found what the other rank
/// sent.
const Scenario kFound(
    "Spin.TellsWhatIsFoundAtTheEndOfARun",
    [](const Who& me) {
      int in = 0;
      int flag = 0;
      int tests = 0;
      MPI_Status status;
      if (me.rank == 0) {
        MPI_Recv(nullptr, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (const double end = MPI_Wtime() + 0.02; MPI_Wtime() < end;) {
        }
        MPI_Send(&me.size, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        return;
      }
      MPI_Request request;
      MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      for (; flag == 0; ++tests) {
        if (tests == 150)
          MPI_Send(nullptr, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);  // on a busy machine these take long
        MPI_Test(&request, &flag, &status);
      }
      expect(in == me.size && status.MPI_TAG == 3, "the message");
      MPI_Sendrecv(&in, 0, MPI_INT, 0, tests, &in, 0, MPI_INT, 0, tests, MPI_COMM_SELF,
                   MPI_STATUS_IGNORE);
    },
    nullptr, {2},
    [](const Recorded& run) {
      long tests = 0;
      long finds = 0;
      long recorded = -1;
      for (const std::string& line : run.lines(1)) {
        long times = 1;
        std::sscanf(line.c_str(), "MPI_Test times %ld", &times);
        if (line.starts_with("MPI_Test")) tests += times;
        if (line == "MPI_Test | received r1 in world from 0 tag 3 bytes 4") ++finds;
        const std::size_t tag = line.find(" tag ");
        if (line.starts_with("MPI_Sendrecv"))
          recorded = std::strtol(line.c_str() + tag + 5, nullptr, 10);
      }
      EXPECT_GT(recorded, 100);  // enough of them that most were counted without times
      EXPECT_EQ(tests, recorded);
      EXPECT_EQ(finds, 1);
    });

void sum_with_calls(void* in, void* inout, int* count, MPI_Datatype*) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < *count; ++i) static_cast<int*>(inout)[i] += static_cast<const int*>(in)[i];
}

/// Calls recorded inside of a test end its run.
const Scenario kNested(
    "Spin.IsBrokenByCallsOfAnOperatorInsideOfATest",
    [](const Who& me) {
      MPI_Op op;
      MPI_Op_create(sum_with_calls, 1, &op);
      std::vector<int> in(1 << 14, 1);
      std::vector<int> out(in.size());
      int tests = 0;
      for (int i = 0; i < 50; ++i) {
        MPI_Request request;
        MPI_Iallreduce(in.data(), out.data(), static_cast<int>(in.size()), MPI_INT, op,
                       MPI_COMM_WORLD, &request);
        for (int flag = 0; flag == 0; ++tests) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        expect(out.back() == me.size, "the sum");
      }
      MPI_Op_free(&op);
      MPI_Sendrecv(&tests, 0, MPI_INT, 0, tests, &tests, 0, MPI_INT, 0, tests, MPI_COMM_SELF,
                   MPI_STATUS_IGNORE);
    },
    nullptr, {2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < 2; ++rank) {
        long tests = 0;
        long recorded = -1;
        long sums = 0;
        for (const std::string& line : run.lines(rank)) {
          long times = 1;
          std::sscanf(line.c_str(), "MPI_Test times %ld", &times);
          if (line.starts_with("MPI_Test")) tests += times;
          if (line.starts_with("MPI_Iallreduce")) ++sums;
          if (line.starts_with("MPI_Sendrecv"))
            recorded = std::strtol(line.c_str() + line.find(" tag ") + 5, nullptr, 10);
        }
        EXPECT_EQ(tests, recorded);
        EXPECT_EQ(sums, 50);
      }
    });

const Scenario kMany(
    "Spin.KeepsItsCountOverFullBuffers",
    [](const Who&) {
      int in = 0;
      int size = 0;
      MPI_Request request;
      MPI_Irecv(&in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
      int flag = 0;
      for (int i = 0; i < 30000; ++i) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Comm_size(MPI_COMM_SELF, &size);
      }
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    },
    nullptr, {1},
    [](const Recorded& run) {
      int tests = 0;
      int sizes = 0;
      for (const std::string& line : run.lines(0)) {
        if (line.starts_with("MPI_Test times 2"))
          tests += 2;
        else if (line.starts_with("MPI_Test"))
          ++tests;
        sizes += line.starts_with("MPI_Comm_size") ? 1 : 0;
      }
      EXPECT_EQ(tests, 60000);
      EXPECT_EQ(sizes, 30000);
    });

/// Series that are long enough for calls without times, and chunks that become full between them.
const Scenario kLongSeries(
    "Spin.KeepsTheCountOfLongSeriesOverFullBuffers",
    [](const Who&) {
      int in = 0;
      int size = 0;
      std::array<MPI_Request, 2> requests{};
      for (MPI_Request& request : requests)
        MPI_Irecv(&in, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &request);
      int flag = 0;
      int index = 0;
      for (int i = 0; i < 10000; ++i) {
        for (int test = 0; test < 20; ++test) MPI_Test(requests.data(), &flag, MPI_STATUS_IGNORE);
        for (int test = 0; test < 20; ++test)
          MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
        MPI_Comm_size(MPI_COMM_SELF, &size);
      }
      for (MPI_Request& request : requests) {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
    },
    nullptr, {1},
    [](const Recorded& run) {
      long tests = 0;
      long tests_of_any = 0;
      long whole = 0;
      for (const std::string& line : run.lines(0)) {  // a full buffer cuts a series in two
        long times = 1;
        std::sscanf(line.c_str(), "MPI_Test times %ld", &times);
        std::sscanf(line.c_str(), "MPI_Testany times %ld", &times);
        if (line.starts_with("MPI_Testany"))
          tests_of_any += times;
        else if (line.starts_with("MPI_Test"))
          tests += times;
        whole += times == 20 ? 1 : 0;
      }
      EXPECT_EQ(tests, 200000);
      EXPECT_EQ(tests_of_any, 200000);
      EXPECT_GT(whole, 19900);
    });

/// The requests of an array change places between tests without a call of MPI.
const Scenario kMoved(
    "Spin.TellsWhichOfTheRequestsOfAnArrayIsFound",
    [](const Who& me) {
      if (me.rank == 0) {
        int out = 7;
        MPI_Recv(nullptr, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (const double end = PMPI_Wtime() + 0.002; PMPI_Wtime() < end;) {
        }
        MPI_Send(&out, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
        return;
      }
      std::array<int, 2> in{};
      std::array<MPI_Request, 2> requests{};
      for (int i = 0; i < 2; ++i)
        MPI_Irecv(&in[at(i)], 1, MPI_INT, 0, 3 + 2 * i, MPI_COMM_WORLD, &requests[at(i)]);
      MPI_Send(nullptr, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
      int flag = 0;
      int index = 0;
      while (flag == 0) {
        std::swap(requests[0], requests[1]);
        MPI_Testany(2, requests.data(), &index, &flag, MPI_STATUS_IGNORE);
      }
      expect(in[0] == 7, "the message");
      MPI_Request& other = requests[at(1 - index)];
      MPI_Cancel(&other);
      MPI_Wait(&other, MPI_STATUS_IGNORE);
    },
    nullptr, {2},
    [](const Recorded& run) {
      int finds = 0;
      for (const std::string& line : run.lines(1))
        finds += line == "MPI_Testany | received r1 in world from 0 tag 3 bytes 4" ? 1 : 0;
      EXPECT_EQ(finds, 1);
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
