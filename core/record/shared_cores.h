#pragma once

#include "core/base/node_cpus.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Finds ranks of a run that have fewer cores than processes.
namespace megascope {

struct RankCpus {
  std::int32_t world_rank = 0;
  std::string host;
  NodeCpus cpus;
};

/// Ranks of one node that may use, all together, fewer cores than there are ranks.
struct SharedCores {
  std::string host;
  std::vector<std::int32_t> ranks;  ///< ascending
  std::uint32_t cores = 0;
  std::uint32_t
      processors = 0;  ///< processors of these cores; more than `cores` with hyper-threads
  double granted = 0;  ///< CPU time that their control group grants, as a number of processors, if
                       ///< less than the cores; else 0

  bool operator==(const SharedCores&) const = default;
};

/// Returns the sets by host, then by lowest rank. A rank that belongs to several sets is reported
/// in the largest of them. Ranks with unknown cores are omitted. Assumes one thread for each rank.
std::vector<SharedCores> shared_cores(std::span<const RankCpus> ranks);

/// Formats a set without final point: "4 ranks share 2 cores on node n1", "4 ranks share 1.5
/// processors (control group) on node n1".
std::string to_text(const SharedCores& shared);

}  // namespace megascope
