#pragma once

#include "plugin/cli/hang_view.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// Threads that do the same, as one entry.
struct RankLine {
  std::string who;    ///< "ranks 0-2", "rank 3, thread 2"
  std::string where;  ///< "in MPI_Recv of `dp`, since 1.2 s"
  std::string what;   ///< "waits for …"; empty where there is nothing to wait for
};

/// All threads of all ranks, those that do the same together: few lines also for many ranks. In
/// order of their lowest rank.
std::vector<RankLine> rank_lines(const HangView& view);
/// The same of one rank with a trace, each thread alone.
std::vector<RankLine> lines_of_rank(const HangView& view, std::int32_t world_rank);

}  // namespace megascope::cli
