#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>

/// MPI_THREAD_SERIALIZED, which is what the program gets (scenario.cpp): threads take turns, and
/// have a location each.
namespace megascope::mpitest {
namespace {

const Scenario kSerialized(
    "MpiInitThread.GivesSerializedAsAskedFor",
    [](const Who& me) {
      int out = 7;
      int in = 0;
      std::array<MPI_Request, 2> requests;
      int is_main = 1;
      std::thread([&] {
        MPI_Irecv(&in, 1, MPI_INT, me.previous(), 1, MPI_COMM_WORLD, requests.data());
        MPI_Issend(&out, 1, MPI_INT, me.next(), 1, MPI_COMM_WORLD, &requests[1]);
      }).join();
      std::thread([&] {
        MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        MPI_Is_thread_main(&is_main);
      }).join();
      expect(in == 7 && is_main == 0, "a message of other threads");
      MPI_Barrier(MPI_COMM_WORLD);
    },
    [](const Who&) -> Lines { return {"MPI_Barrier on world | coll #0 sent 0 received 0"}; }, {2},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank) {
        const Who me{rank, run.rank_count()};
        EXPECT_EQ(run.process(rank).info.thread_level, 2);
        ASSERT_EQ(run.location_count(rank), 3u);
        EXPECT_EQ(run.lines(rank, 1),
                  (Lines{text("MPI_Irecv on world | irecv r1 from %d tag 1 space 4", me.previous()),
                         text("MPI_Issend on world | isend r2 to %d tag 1 bytes 4", me.next())}));
        EXPECT_EQ(run.lines(rank, 2),
                  (Lines{text("MPI_Waitall | received r1 in world from %d tag 1 bytes 4; sent r2",
                              me.previous()),
                         "MPI_Is_thread_main"}));
      }
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) {
  return megascope::mpitest::run_main(argc, argv, MPI_THREAD_SERIALIZED);
}
