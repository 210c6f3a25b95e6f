#pragma once

#include <cstdint>
#include <string>

#include "core/lifecycle/runtime.h"

/// Which ranks have the library, found out without a message that could hang: through notices that the launcher keeps
/// (board.h). docs/decisions/0003-all-ranks.md.
namespace megascope::mpi {

/// Before PMPI_Init: tells the others that we are here. run_id: of this process, used if it is rank 0.
void announce_presence(const std::string& run_id);
/// After PMPI_Init, before anything else here: from now on the launcher takes the process's end from MPI alone.
void share_notices();
/// After PMPI_Init: rank 0's run id, or empty when it is not known to have the library. One local question.
std::string ask_run_id_of_rank_0();
/// After PMPI_Init, where rank 0 is not known to have the library: is it known of no other rank below this one? At most
/// world_rank local questions.
bool is_lowest_here(std::int32_t world_rank);
/// On rank 0, once, before anything that takes long: finds out about everybody and tells them. O(world_size) local questions.
/// Does nothing where the others would not see it (board::kShowsLateNotices).
void judge_company(std::int32_t world_size);
/// Before our first own message. Where all ranks came out of PMPI_Init with the same notices before them, each judges by
/// itself. Else it waits for rank 0's verdict, which it gives in its MPI_Init, as long as it would take rank 0 to come to
/// MPI_Finalize: a rank that decides by itself would leave rank 0 waiting for ever. progress: called while waiting.
Company ask_company(std::int32_t world_size, void (*progress)());
/// Before PMPI_Finalize: ends what announce_presence began.
void leave_company();

}  // namespace megascope::mpi
