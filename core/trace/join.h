#pragma once

#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::trace {

struct JoinResult {
  std::vector<std::int32_t>
      ranks;  ///< world ranks whose traces are in the new run directory, ascending
  std::int32_t world_size = 0;
  std::vector<std::string>
      problems;  ///< sentences about traces that were omitted or could not be checked
};

/// Makes one run directory of the trace fragments of one job: standalone ranks, hosts without a
/// common directory.
/// fragments: each is a run directory (including directories of standalone ranks in it), a run's
/// directory in a node's scratch storage, or one trace. The traces in them are copied; the
/// fragments remain unchanged. If a process still runs, its trace is copied as it is now. If two
/// fragments contain a trace of the same process, the longer trace is used. A trace whose world
/// size differs from that of most traces counts as damaged and is omitted.
///
/// Returns an error, and creates nothing, if run_directory exists; a fragment does not exist or
/// contains no readable trace; fragments are of worlds of different size or of different jobs, as
/// far as launchers provided names; two processes had the same rank; or the disk is full.
Status join_run(const std::vector<std::string>& fragments, const std::string& run_directory,
                JoinResult& result);

}  // namespace megascope::trace
