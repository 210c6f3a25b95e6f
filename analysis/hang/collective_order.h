#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"
#include "analysis/hang/wants.h"

#include <vector>

namespace megascope::analysis {

/// At most one a communicator, window and file, in the order of `comms`. Compares hashes first;
/// only where they differ, or are not known, calls are read again, of all members at once, up to
/// the first that differs. Left out: communicators that members may take for another one
/// (CommTable::Entry::is_sure), and for kCount processes that have not reached MPI_Finalize or lost
/// calls.
std::vector<Mismatch> find_mismatches(const Processes& processes, const CommTable& comms);

}  // namespace megascope::analysis
