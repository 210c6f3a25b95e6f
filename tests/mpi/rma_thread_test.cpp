#include "tests/mpi/scenario.h"
#include "tests/mpi/threads.h"

#include <gtest/gtest.h>

#include <array>

/// One-sided communication by several threads at once. Open MPI has windows for threads in memory
/// that it provides.
namespace megascope::mpitest {
namespace {

constexpr int kThreads = 3;
constexpr int kRounds = 50;

MPI_Win make_window(MPI_Comm comm) {
  MPI_Win window = MPI_WIN_NULL;
  int* memory = nullptr;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, comm, static_cast<void*>(&memory), &window);
  return window;
}

const Scenario kOneWindow(
    "MpiThreads.AccessOneWindowEachForItself",
    [](const Who& me) {
      MPI_Win window = make_window(MPI_COMM_WORLD);
      MPI_Win_lock_all(0, window);
      in_threads(kThreads, [&](int t) {
        std::array<int, 4> out{};
        for (int round = 0; round < kRounds; ++round) {
          MPI_Put(out.data(), t + 1, MPI_INT, me.next(), 4 * t, t + 1, MPI_INT, window);
          MPI_Get(out.data(), t, MPI_INT, me.next(), 4 * t, t, MPI_INT, window);
          MPI_Win_flush(me.next(), window);
        }
      });
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    },
    [](const Who&) -> Lines {
      return {"MPI_Win_allocate on world | made w1 bytes 64",
              "MPI_Win_lock_all on world | lock w1 all",
              "MPI_Win_unlock_all on world | unlock w1 all", "MPI_Win_free on world | ended w1"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Who me{rank, run.rank_count()};
        ASSERT_EQ(run.location_count(rank), std::size_t{kThreads + 1});
        for (int t = 0; t < kThreads; ++t) {
          Lines lines = {kFirstOfThread};
          for (int round = 0; round < kRounds; ++round) {
            lines.push_back(text("MPI_Put on world | put w1 target %d sent %d received 0",
                                 me.next(), 4 * (t + 1)));
            lines.push_back(
                text("MPI_Get on world | get w1 target %d sent 0 received %d", me.next(), 4 * t));
            lines.push_back(text("MPI_Win_flush on world | flush w1 %d", me.next()));
          }
          EXPECT_EQ(run.lines(rank, at(t + 1)), lines) << "thread " << t << " of rank " << rank;
        }
      }
    });

const Scenario kOtherThread(
    "MpiThreads.CompleteOneSidedOperationsOfOtherThreads",
    [](const Who& me) {
      MPI_Win window = make_window(MPI_COMM_WORLD);
      const int value = 1;
      std::array<MPI_Request, 2> requests;
      MPI_Win_lock_all(0, window);
      for (int t = 0; t < 2; ++t)
        MPI_Rput(&value, 1, MPI_INT, me.next(), t, 1, MPI_INT, window, &requests[at(t)]);
      in_threads(2, [&](int t) { MPI_Wait(&requests[at(t)], MPI_STATUS_IGNORE); });
      MPI_Win_unlock_all(window);
      MPI_Win_free(&window);
    },
    nullptr, {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const int next = Who{rank, run.rank_count()}.next();
        ASSERT_GE(run.lines(rank).size(), 4u);
        EXPECT_EQ(run.lines(rank)[2],
                  text("MPI_Rput on world | rput r1 w1 target %d sent 4 received 0", next));
        EXPECT_EQ(run.lines(rank)[3],
                  text("MPI_Rput on world | rput r2 w1 target %d sent 4 received 0", next));
        // Open MPI may give both the one handle of what is complete at once: then either thread may
        // be told of either.
        Lines recorded = {run.lines(rank, 1).back(), run.lines(rank, 2).back()};
        if (recorded[0] > recorded[1]) std::swap(recorded[0], recorded[1]);
        EXPECT_EQ(recorded, (Lines{"MPI_Wait | done r1", "MPI_Wait | done r2"})) << "rank " << rank;
      }
    });

const Scenario kOwnWindows(
    "MpiThreads.MakeAndFreeWindowsWhileOthersUseTheirs",
    [](const Who&) {
      std::array<MPI_Comm, kThreads> comms;
      for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_SELF, &comm);
      in_threads(kThreads, [&](int t) {
        for (int round = 0; round < 20; ++round) {
          MPI_Win window = make_window(comms[at(t)]);
          MPI_Win_fence(0, window);
          MPI_Put(&t, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
          MPI_Win_fence(0, window);
          MPI_Win_free(&window);
        }
      });
      for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
    },
    nullptr, {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        ASSERT_EQ(run.location_count(rank), std::size_t{kThreads + 1});
        for (int t = 0; t < kThreads; ++t) {
          const Lines& lines = run.lines(rank, at(t + 1));
          ASSERT_EQ(lines.size(), 101u);
          for (int round = 0; round < 20; ++round) {
            const std::string window = text(" w%d", t * 20 + round + 1);
            const auto ends_with = [&](int call, const std::string& end) {
              const std::string& line = lines[at(5 * round + call + 1)];
              EXPECT_TRUE(line.ends_with(end)) << line << ", not " << end;
            };
            ends_with(0, "made" + window + " bytes 64");
            ends_with(1, "fence" + window + " #0");
            ends_with(2, "put" + window + " target 0 sent 4 received 0");
            ends_with(3, "fence" + window + " #1");
            ends_with(4, "ended" + window);
          }
        }
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  return megascope::mpitest::run_main(argc, argv, MPI_THREAD_MULTIPLE);
}
