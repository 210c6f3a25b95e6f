#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <vector>

/// Keys and rank lists, for definitions shared by several processes (shared_definitions.h).
namespace megascope::otf2 {

/// Returns a hash that combines `hash` with a list of ranks.
std::uint64_t combined_ranks(std::uint64_t hash, const std::vector<RankRun>& runs);

/// Returns whether the runs contain only ranks of the world, and at most world_size ranks.
bool are_ranks(const std::vector<RankRun>& runs, std::int32_t world_size);
std::int32_t lowest_rank(const std::vector<RankRun>& runs);

/// Serialize runs of ranks (put_runs()) and parse them (get_runs()).
void put_runs(ByteWriter& to, const std::vector<RankRun>& runs);
std::vector<RankRun> get_runs(ByteReader& from);

}  // namespace megascope::otf2
