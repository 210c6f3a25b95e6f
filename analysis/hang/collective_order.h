#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"
#include "analysis/hang/wants.h"

#include <vector>

namespace megascope::analysis {

/// Returns the first mismatch of each communicator, window and file that has one, in the order of
/// `comms`. Compares hashes first. Only where they differ or are unknown, the calls of all members
/// are read again in parallel order up to the first mismatch. Ignores communicators without a sure
/// global name (CommTable::Entry::is_sure). For kCount, also ignores processes that have not
/// reached MPI_Finalize or have lost calls.
std::vector<Mismatch> find_mismatches(const Processes& processes, const CommTable& comms);

}  // namespace megascope::analysis
