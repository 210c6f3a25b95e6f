#pragma once

#include "core/lifecycle/runtime.h"

#include <cstdint>
#include <string>

/// Which ranks have the library, found out without a message to one that has it not: through
/// notices that the launcher keeps (board.h). docs/decisions/0003-all-ranks.md.
namespace megascope::mpi {

/// Before PMPI_Init: tells the others that we are here. run_id: of this process, used if it is rank
/// 0.
void announce_presence(const std::string& run_id);
/// After PMPI_Init, before anything else here: tells the others that this process has left it. From
/// now on the launcher takes the process's end from MPI alone.
void share_notices();
/// After PMPI_Init: rank 0's run id, or empty when it is not known to have the library. One local
/// question.
std::string ask_run_id_of_rank_0();
/// After PMPI_Init, where rank 0 is not known to have the library: is it known of no other rank
/// below this one? At most world_rank local questions.
bool is_lowest_here(std::int32_t world_rank);
/// Before our first other message, in a call that every rank makes: all ranks that have the library
/// come to the same answer. Each asks for the notices of its neighbours in a binomial tree over the
/// world, and those that are there tell each other along it: O(log world_size) local questions and
/// rounds. is_vouched: ranks that are not known to be here are. The answer names no ranks;
/// name_missing_ranks() does.
Company ask_company(std::int32_t world_rank, std::int32_t world_size, bool is_vouched);
/// For the company of ask_company(), where it is not complete: names the ranks that are missing
/// (the first 32), and says whether they have another version. world_size local questions.
void name_missing_ranks(std::int32_t world_size, Company& company);
/// Before PMPI_Finalize: ends what announce_presence began.
void leave_company();

}  // namespace megascope::mpi
