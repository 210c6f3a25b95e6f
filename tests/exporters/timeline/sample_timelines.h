#pragma once

#include "tests/support/sample_process.h"

#include <vector>

/// Runs made by hand, for all timeline formats.
namespace megascope::test {

/// Rank 0 sends to rank 1, whose receive had begun before; both then meet in a barrier. 4 slices, 1
/// + 1 arrows.
std::vector<SampleProcess> send_and_receive();

/// `rank_count` ranks in a ring: MPI_Irecv (from anywhere), MPI_Isend, MPI_Waitall, MPI_Allreduce;
/// `round_count` times. A round is 4 slices, 2 operations and 1 arrow from a send a rank, and
/// rank_count - 1 arrows of the collective.
std::vector<SampleProcess> ring(std::int32_t rank_count, std::uint64_t round_count);

}  // namespace megascope::test
