#pragma once

#include "plugin/cli/hang/view.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// One entry of the output: the threads that are in one state, and this state.
struct RankLine {
  std::string who;    ///< "ranks 0-2", "rank 3, thread 2"
  std::string where;  ///< "in MPI_Recv of `dp`, since 1.2 s"
  std::string what;   ///< "waits for rank 2 to enter it"; empty if the threads wait for nothing
};

/// The state of all threads of all ranks. Threads in the same state share an entry, so there are
/// few entries even for many ranks. Ordered by lowest rank.
std::vector<RankLine> rank_lines(const HangView& view);
/// The state of one rank's threads, one entry for each thread. The rank must have a trace.
std::vector<RankLine> lines_of_rank(const HangView& view, std::int32_t world_rank);

}  // namespace megascope::cli
