#pragma once

#include "tests/faults/ledger.h"

#include <mpi.h>

#include <string>
#include <string_view>

/// A small MPI program with a choice of bad ends: `victim MODE [BOOK [COUNT]]`. It keeps its own
/// book of the calls that returned (ledger.h, path with the world rank appended) and knows nothing
/// of MegaScope.
namespace megascope::faults::victim {

extern Ledger* g_ledger;
extern std::uint64_t g_count;  ///< COUNT

/// MPI_Init, or MPI_Init_thread at a level; the first entry of the book.
void init(int level = MPI_THREAD_SINGLE);
/// Opens the book of this rank: BOOK.<world rank>.
int open_ledger(const std::string& path);
/// A mix of `count` calls that talk to this rank alone, tags counting up.
void mixed_calls(std::uint64_t count);
/// `count` times MPI_Comm_rank.
void cheap_calls(std::uint64_t count);
void finalize();

/// Each returns the exit code, or -1 for a mode that it does not know.
int run_end_mode(std::string_view mode);
int run_process_mode(std::string_view mode);
int run_unwind_mode(std::string_view mode);

}  // namespace megascope::faults::victim
