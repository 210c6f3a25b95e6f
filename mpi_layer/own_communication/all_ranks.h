#pragma once

#include "core/lifecycle/runtime.h"

#include <cstdint>
#include <string>

/// Determines which ranks have loaded the library, without sending a message to one that has not:
/// by entries in the launcher's key-value store (launcher_store.h).
/// docs/decisions/0003-all-ranks.md.
namespace megascope::mpi {

/// Announces this process to the other ranks. Call before PMPI_Init. run_id: the run id that this
/// process generated. Other ranks use it if this process is rank 0.
void announce_presence(const std::string& run_id);
/// Announces that this process has left PMPI_Init. Call after PMPI_Init, before the other
/// functions. Afterwards only MPI informs the launcher of the end of the process.
void share_entries();
/// Returns rank 0's run id; an empty string if rank 0 is not known to have the library. Call after
/// PMPI_Init. Cost: one query to the launcher's process on this node.
std::string ask_run_id_of_rank_0();
/// Returns whether no rank below this one is known to have the library. Call after PMPI_Init, if
/// rank 0 is not known to have it. At most world_rank local queries.
bool is_lowest_here(std::int32_t world_rank);
/// Determines whether all ranks have the library; all ranks that have it get the same result. Call
/// in an MPI call that every rank makes, before any other message of the library. Each rank queries
/// the entries of its neighbours in a binomial tree over the world, and ranks that have the library
/// exchange the result along the tree: O(log world_size) local queries and rounds. is_asserted:
/// ranks without an entry are assumed to have the library. The result does not name ranks; see
/// name_missing_ranks().
PeerPresence query_presence(std::int32_t world_rank, std::int32_t world_size, bool is_asserted);
/// Adds to an incomplete result of query_presence() the missing ranks (the first 32) and whether
/// they have another version. world_size local queries.
void name_missing_ranks(std::int32_t world_size, PeerPresence& presence);
/// Closes the connection to the launcher that announce_presence() opened. Call before
/// PMPI_Finalize.
void withdraw_presence();

}  // namespace megascope::mpi
