#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"

#include <cstdint>
#include <string>
#include <vector>

/// Ranks, communicators and collectives in words, for all commands that speak of them. Phrases,
/// without a final point.
namespace megascope::answer {

/// Of a communicator, of that of a window, of a file's.
std::string comm_name(const analysis::CommTable& comms, analysis::CommTable::Index comm);
/// "`dp`", "window 2 (`halo`)", "file `out.bin`".
std::string place_name(const analysis::CommTable& comms, analysis::CommTable::Index call_site);
/// "rank 3", "ranks 0-2, 7", "64 ranks (0-63)" where the list is long.
std::string ranks_text(const std::vector<std::int32_t>& ranks);
/// "function", "root", "bytes", "count".
const char* what_name(analysis::Mismatch::What what);
/// "#17 of `dp`: rank 3 called MPI_Bcast (root 1), ranks 0-2 MPI_Allreduce"
std::string mismatch_text(const analysis::CommTable& comms, const analysis::Mismatch& mismatch);

}  // namespace megascope::answer
