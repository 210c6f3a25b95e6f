#pragma once

#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::trace {

struct JoinResult {
  std::vector<std::int32_t>
      ranks;  ///< world ranks whose traces are in the new run folder, ascending
  std::int32_t world_size = 0;
  std::vector<std::string> problems;  ///< sentences on what was left out or could not be checked
};

/// Makes one run folder of the pieces of one job: ranks that recorded alone, hosts without a common
/// folder. A piece is a run folder (with the solo folders in it), a run's folder in a node's
/// scratch storage, or one trace. Pieces are copied and stay as they are; of a process that runs
/// the trace so far is taken. Of the same process's trace in two pieces the one with more in it is
/// taken. A trace that tells another size of the same world than most do is damaged, and is left
/// out.
///
/// An error, and no new folder: it exists already; a piece is not there or holds no readable trace;
/// pieces are of worlds of different size or of different jobs, as far as their launchers told; two
/// processes were the same rank; the disk is full.
Status join_run(const std::vector<std::string>& pieces, const std::string& run_folder,
                JoinResult& result);

}  // namespace megascope::trace
