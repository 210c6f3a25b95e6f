#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>

/// One-sided operations with a request: start and completion.
namespace megascope::mpitest {
namespace {

std::array<int, 64> g_memory;

/// The body while all targets are locked.
template <class Body>
void locked(Body body) {
  g_memory.fill(7);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_create(g_memory.data(), sizeof g_memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &window);
  MPI_Win_lock_all(0, window);
  body(window);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}
Lines locked_lines(const Lines& inner) {
  Lines lines = {"MPI_Win_create on world | made w1 bytes 256",
                 "MPI_Win_lock_all on world | lock w1 all"};
  lines.insert(lines.end(), inner.begin(), inner.end());
  lines.emplace_back("MPI_Win_unlock_all on world | unlock w1 all");
  lines.emplace_back("MPI_Win_free on world | ended w1");
  return lines;
}

const Scenario kEach(
    "MpiRput.AndItsKindAreStartedAndCompleted",
    [](const Who& me) {
      std::array<int, 4> out{1, 2, 3, 4};
      std::array<int, 4> in{};
      MPI_Request request;
      locked([&](MPI_Win window) {
        MPI_Rput(out.data(), 4, MPI_INT, me.next(), 0, 4, MPI_INT, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget(in.data(), 3, MPI_INT, me.next(), 10, 3, MPI_INT, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(in[2] == 7 && in[3] == 0, "the data is got");
        MPI_Raccumulate(out.data(), 2, MPI_INT, me.next(), 20, 2, MPI_INT, MPI_SUM, window,
                        &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget_accumulate(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, me.next(), 30, 1,
                            MPI_INT, MPI_SUM, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Rget_accumulate(nullptr, 9, MPI_DOUBLE, in.data(), 2, MPI_INT, me.next(), 40, 2,
                            MPI_INT, MPI_NO_OP, window, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(request == MPI_REQUEST_NULL, "the request is spent");
      });
      expect(g_memory[3] == 4 && g_memory[21] == 9 && g_memory[30] == 8, "the data is put");
    },
    [](const Who& me) {
      const int next = me.next();
      return locked_lines(
          {text("MPI_Rput on world | rput r1 w1 target %d sent 16 received 0", next),
           "MPI_Wait | done r1",
           text("MPI_Rget on world | rget r2 w1 target %d sent 0 received 12", next),
           "MPI_Wait | done r2",
           text("MPI_Raccumulate on world | raccumulate r3 w1 target %d sent 8 received 0", next),
           "MPI_Wait | done r3",
           text("MPI_Rget_accumulate on world | rget-accumulate r4 w1 target %d sent 4 received 4",
                next),
           "MPI_Wait | done r4",
           text("MPI_Rget_accumulate on world | rget-accumulate r5 w1 target %d sent 0 received 8",
                next),
           "MPI_Wait | done r5"});
    });

/// MPI may give all of them the one handle of what is complete at once, a send to itself among
/// them.
const Scenario kMixed(
    "MpiWaitall.TellsOneSidedOperationsFromMessages",
    [](const Who& me) {
      std::array<int, 2> out{5, 6};
      std::array<int, 2> in{};
      std::array<MPI_Request, 5> requests;
      locked([&](MPI_Win window) {
        MPI_Irecv(in.data(), 1, MPI_INT, me.previous(), 3, MPI_COMM_WORLD, requests.data());
        MPI_Rput(out.data(), 1, MPI_INT, me.next(), 0, 1, MPI_INT, window, &requests[1]);
        MPI_Isend(out.data(), 1, MPI_INT, me.next(), 3, MPI_COMM_WORLD, &requests[2]);
        MPI_Rget(&in[1], 1, MPI_INT, me.rank, 9, 1, MPI_INT, window, &requests[3]);
        requests[4] = MPI_REQUEST_NULL;
        MPI_Waitall(5, requests.data(), MPI_STATUSES_IGNORE);
      });
      expect(in[0] == 5 && in[1] == 7, "everything arrives");
    },
    [](const Who& me) {
      return locked_lines(
          {text("MPI_Irecv on world | irecv r1 from %d tag 3 space 4", me.previous()),
           text("MPI_Rput on world | rput r2 w1 target %d sent 4 received 0", me.next()),
           text("MPI_Isend on world | isend r3 to %d tag 3 bytes 4", me.next()),
           text("MPI_Rget on world | rget r4 w1 target %d sent 0 received 4", me.rank),
           text("MPI_Waitall | received r1 in world from %d tag 3 bytes 4; done r2; sent r3; done "
                "r4",
                me.previous())});
    });

const Scenario kNone(
    "MpiRput.ToProcNullHasARequestThatSaysNothing",
    [](const Who& me) {
      int value = 1;
      std::array<MPI_Request, 5> requests;
      locked([&](MPI_Win window) {
        MPI_Rput(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window, requests.data());
        MPI_Rget(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, window, &requests[1]);
        MPI_Raccumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, window,
                        &requests[2]);
        MPI_Rget_accumulate(&value, 1, MPI_INT, &value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT,
                            MPI_SUM, window, &requests[3]);
        MPI_Rput(nullptr, 0, MPI_INT, me.next(), 0, 0, MPI_INT, window, &requests[4]);
        MPI_Waitall(5, requests.data(), MPI_STATUSES_IGNORE);
      });
    },
    [](const Who& me) {
      return locked_lines(
          {"MPI_Rput on world", "MPI_Rget on world", "MPI_Raccumulate on world",
           "MPI_Rget_accumulate on world",
           text("MPI_Rput on world | rput r1 w1 target %d sent 0 received 0", me.next()),
           "MPI_Waitall | done r1"});
    });

const Scenario kMany(
    "MpiWaitall.TellsOfManyOneSidedOperations",
    [](const Who& me) {
      std::array<int, 100> out{};
      std::array<MPI_Request, 100> requests;
      locked([&](MPI_Win window) {
        for (int i = 0; i < 100; ++i) {
          MPI_Rput(&out[at(i)], 1, MPI_INT, (me.rank + i) % me.size, i % 64, 1, MPI_INT, window,
                   &requests[at(i)]);
        }
        MPI_Waitall(100, requests.data(), MPI_STATUSES_IGNORE);
      });
    },
    [](const Who& me) {
      Lines lines;
      std::string done = "MPI_Waitall";
      for (int i = 0; i < 100; ++i) {
        lines.push_back(text("MPI_Rput on world | rput r%d w1 target %d sent 4 received 0", i + 1,
                             (me.rank + i) % me.size));
        done += text("%s done r%d", i == 0 ? " |" : ";", i + 1);
      }
      lines.push_back(done);
      return locked_lines(lines);
    });

/// Whichever completing function is used: as many tests go on as MPI likes, then each operation is
/// told once.
const Scenario kTests(
    "MpiTest.AndItsKindTellOfOneSidedOperations",
    [](const Who& me) {
      std::array<int, 8> in{};
      std::array<MPI_Request, 8> requests;
      std::array<int, 8> indices{};
      int index = 0;
      int flag = 0;
      locked([&](MPI_Win window) {
        for (int i = 0; i < 8; ++i) {
          MPI_Rget(&in[at(i)], 1, MPI_INT, me.next(), i, 1, MPI_INT, window, &requests[at(i)]);
        }
        while (flag == 0) MPI_Test(requests.data(), &flag, MPI_STATUS_IGNORE);
        for (flag = 0; flag == 0;) MPI_Testall(1, &requests[1], &flag, MPI_STATUSES_IGNORE);
        for (flag = 0; flag == 0;) MPI_Testany(1, &requests[2], &index, &flag, MPI_STATUS_IGNORE);
        for (index = 0; index != 1;)
          MPI_Testsome(1, &requests[3], &index, indices.data(), MPI_STATUSES_IGNORE);
        MPI_Waitany(1, &requests[4], &index, MPI_STATUS_IGNORE);
        MPI_Waitsome(1, &requests[5], &index, indices.data(), MPI_STATUSES_IGNORE);
        MPI_Waitall(2, &requests[6], MPI_STATUSES_IGNORE);
      });
      for (const int value : in) expect(value == 7, "the data is got");
    },
    nullptr, {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        Lines recorded;
        for (const std::string& line : run.lines(rank)) {
          if (line.find("done") != std::string::npos) recorded.push_back(line);
        }
        EXPECT_EQ(recorded,
                  (Lines{"MPI_Test | done r1", "MPI_Testall | done r2", "MPI_Testany | done r3",
                         "MPI_Testsome | done r4", "MPI_Waitany | done r5",
                         "MPI_Waitsome | done r6", "MPI_Waitall | done r7; done r8"}))
            << "rank " << rank;
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
