#pragma once

#include "analysis/import/collective_names.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::importer {

/// A collective or a message of a PyTorch trace, as one rank shows it.
struct KinetoCall {
  std::size_t operation = 0;  ///< in Timeline::operations
  std::int32_t rank = 0;      ///< in the world
  CommunicationName name;
  std::string group;                  ///< "Process Group Name"; empty: the file does not tell
  std::vector<std::int32_t> members;  ///< "Process Group Ranks"; empty: not told, or not all
  std::int32_t group_size = kUnknown;
  std::int64_t sequence = kUnknown;  ///< "Seq"
  std::int32_t peer = kUnknown;      ///< messages: the other end's rank in the world
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

/// Ranks of process groups by name, as "distributedInfo.pg_config" tells them.
using KinetoGroups = std::map<std::string, std::vector<std::int32_t>>;

/// Makes communicators and facts of calls: members of a collective belong together by group and
/// sequence number, without one by their order in the step; a send and a receive by their order
/// between two ranks in a step. Timeline::definitions has an entry for each rank: definitions_of.
/// Fills the timeline's definitions, facts and told; operations that are none of calls get no
/// facts.
void keep_calls(Timeline& timeline, std::vector<KinetoCall> calls, const KinetoGroups& groups,
                std::int32_t world_size,
                const std::map<std::int32_t, std::int32_t>& definitions_of);

}  // namespace megascope::importer
