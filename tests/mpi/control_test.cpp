#include "tests/mpi/scenario.h"

#include <gtest/gtest.h>

/// MPI_Pcontrol stops and resumes recording; what later calls refer to is known all the same.
namespace megascope::mpitest {
namespace {

const Scenario kPause(
    "MpiPcontrol.StopsAndResumes",
    [](const Who& me) {
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Pcontrol(0);
      int rank = -1;
      MPI_Comm_rank(MPI_COMM_WORLD, &rank);
      expect(rank == me.rank, "calls go on while recording is off");
      MPI_Comm part;
      MPI_Comm_dup(MPI_COMM_WORLD, &part);
      MPI_Comm_set_name(part, "made in the dark");
      MPI_Barrier(part);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Request request;
      MPI_Ibarrier(part, &request);
      MPI_Pcontrol(1);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(part);
      MPI_Barrier(MPI_COMM_WORLD);
      MPI_Comm_free(&part);
      MPI_Pcontrol(2);
      MPI_Pcontrol(17);
    },
    [](const Who&) -> Lines {
      // The duplicate is collective #1 of the world, the barrier in the dark #2; #0 and #1 of the
      // duplicate as well.
      return {"MPI_Barrier on world | coll #0 sent 0 received 0",
              "MPI_Pcontrol",
              "MPI_Pcontrol",
              "MPI_Wait",
              "MPI_Barrier on made in the dark | coll #2 sent 0 received 0",
              "MPI_Barrier on world | coll #3 sent 0 received 0",
              "MPI_Comm_free on made in the dark | ended made in the dark",
              "MPI_Pcontrol",
              "MPI_Pcontrol"};
    },
    {1, 2, 4},
    [](const Recorded& run) {
      for (int rank = 0; rank < run.rank_count(); ++rank)
        EXPECT_TRUE(run.process(rank).info.has_message_gaps);
    });

}  // namespace
}  // namespace megascope::mpitest

int main(int argc, char** argv) { return megascope::mpitest::run_main(argc, argv); }
