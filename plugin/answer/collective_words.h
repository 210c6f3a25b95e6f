#pragma once

#include "analysis/common/comm_table.h"
#include "analysis/common/mismatch.h"

#include <cstdint>
#include <string>
#include <vector>

/// Texts that name ranks, communicators and collectives, for all commands. They return phrases
/// without a final full stop. Names from the trace are shortened to 60 columns and made printable.
namespace megascope::answer {

/// Returns the name of a communicator: its own or "communicator <number>". For a window or file,
/// the name of its communicator. "?" for CommTable::kNone.
std::string comm_name(const analysis::CommTable& comms, analysis::CommTable::Index comm);
/// Returns the name of a communicator, window or file in quotes: "`dp`", "window 2 (`halo`)", "file
/// `out.bin`".
std::string object_name(const analysis::CommTable& comms, analysis::CommTable::Index object);
/// Returns "rank 3" or "ranks 0-2, 7"; for more than six ranks also their number: "64 ranks
/// (0-63)". ranks: world ranks, ascending.
std::string ranks_text(const std::vector<std::int32_t>& ranks);
/// Returns in what the members differ, as a stable key: "function", "root", "bytes", "count".
const char* what_name(analysis::Mismatch::What what);
/// Describes a mismatched collective: its number in the communicator, and what the ranks called,
/// the last group of Mismatch::participants first: "#17 of `dp`: rank 3 called MPI_Bcast with root
/// 1, ranks 0-2 called MPI_Allreduce". Names at most four groups of ranks.
std::string mismatch_text(const analysis::CommTable& comms, const analysis::Mismatch& mismatch);

}  // namespace megascope::answer
