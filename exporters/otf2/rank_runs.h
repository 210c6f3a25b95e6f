#pragma once

#include "core/record/definitions.h"
#include "exporters/otf2/byte_stream.h"

#include <cstdint>
#include <vector>

/// Keys and ranks, for what the processes of a run define together: part of shared_definitions.h.
namespace megascope::otf2 {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value);
std::uint64_t mixed_ranks(std::uint64_t hash, const std::vector<RankRun>& runs);

/// Only ranks of the run, and no more of them than there are.
bool are_ranks(const std::vector<RankRun>& runs, std::int32_t world_size);
std::int32_t lowest_rank(const std::vector<RankRun>& runs);

void put_runs(ByteWriter& to, const std::vector<RankRun>& runs);
std::vector<RankRun> get_runs(ByteReader& from);

}  // namespace megascope::otf2
