#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <thread>

/// MPI_THREAD_FUNNELED, which is what the program gets (scenario.cpp): other threads do not call
/// MPI, and have no location.
namespace megascope::mpitest {
namespace {

const Scenario kFunneled(
    "MpiInitThread.GivesFunneledAsAskedFor",
    [](const Who& me) {
      int out = 0;
      int in = 0;
      std::thread([&] { out = 7; }).join();
      MPI_Sendrecv(&out, 1, MPI_INT, me.next(), 1, &in, 1, MPI_INT, me.previous(), 1,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      expect(in == 7, "what the thread made arrives");
      int is_main = 0;
      MPI_Is_thread_main(&is_main);
      expect(is_main == 1, "the main thread");
    },
    [](const Who& me) -> Lines {
      return {text("MPI_Sendrecv on world | send to %d tag 1 bytes 4; recv from %d tag 1 bytes 4",
                   me.next(), me.previous()),
              "MPI_Is_thread_main {flag 1}"};
    },
    {2},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        EXPECT_EQ(run.process(rank).info.thread_level, 1);
        EXPECT_EQ(run.process(rank).locations.size(), 1u);
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  return megascope::mpitest::run_main(argc, argv, MPI_THREAD_FUNNELED);
}
