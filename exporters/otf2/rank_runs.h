#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <vector>

/// Keys and rank lists, for definitions shared by several processes (shared_definitions.h).
namespace megascope::otf2 {

/// Combines a hash with a value, or with a list of ranks.
std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);
std::uint64_t mixed_ranks(std::uint64_t hash, const std::vector<RankRun>& runs);

/// Whether the runs contain only ranks of the world, and no more of them than exist.
bool are_ranks(const std::vector<RankRun>& runs, std::int32_t world_size);
std::int32_t lowest_rank(const std::vector<RankRun>& runs);

/// Serializes runs of ranks, and back.
void put_runs(ByteWriter& to, const std::vector<RankRun>& runs);
std::vector<RankRun> get_runs(ByteReader& from);

}  // namespace megascope::otf2
