#pragma once

#include "analysis/import/collective_names.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::importer {

/// A collective or message in the PyTorch trace of one rank.
struct KinetoCall {
  std::size_t operation = 0;  ///< index in Timeline::operations
  std::int32_t rank = 0;      ///< world rank
  CommunicationName name;
  std::string group;                  ///< "Process Group Name"; empty: unknown
  std::vector<std::int32_t> members;  ///< "Process Group Ranks"; empty: unknown or incomplete
  std::int32_t group_size = kUnknown;
  std::int64_t sequence = kUnknown;  ///< "Seq"
  std::int32_t peer = kUnknown;      ///< messages: world rank of the other end
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

/// Ranks of process groups by name, from "distributedInfo.pg_config".
using KinetoGroups = std::map<std::string, std::vector<std::int32_t>>;

/// Creates communicators and facts from the calls of all ranks. Members of a collective are matched
/// by group and sequence number; if there is no number, by their order in the step. A send and its
/// receive are matched by their order among the messages between the two ranks in the step. Fills
/// Timeline::definitions, Timeline::facts and Timeline::specified. Operations that are not in
/// `calls` get no facts. definitions_of: index in Timeline::definitions by rank; the entries must
/// exist.
void keep_calls(Timeline& timeline, std::vector<KinetoCall> calls, const KinetoGroups& groups,
                std::int32_t world_size,
                const std::map<std::int32_t, std::int32_t>& definitions_of);

}  // namespace megascope::importer
