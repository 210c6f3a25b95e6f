#pragma once

#include "core/base/node_cpus.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Which ranks of a run have fewer cores than they are.
namespace megascope {

struct RankCpus {
  std::int32_t world_rank = 0;
  std::string host;
  NodeCpus cpus;
};

/// Ranks of one node that may use fewer cores, all of them together, than they are.
struct SharedCores {
  std::string host;
  std::vector<std::int32_t> ranks;  ///< ascending
  std::uint32_t cores = 0;
  std::uint32_t processors = 0;  ///< of these cores; more than `cores` with hyper-threads
  double granted = 0;  ///< processors' worth of time that their control group grants, where that is
                       ///< less than the cores; else 0

  bool operator==(const SharedCores&) const = default;
};

/// By host, then by the lowest rank. Of ranks that are in several such sets the largest set counts.
/// Ranks whose cores are not known are not considered. One thread a rank is assumed.
std::vector<SharedCores> shared_cores(std::span<const RankCpus> ranks);

/// "4 ranks share 2 cores on node n1", "4 ranks share 1.5 processors (control group) on node n1":
/// no final point.
std::string to_text(const SharedCores& shared);

}  // namespace megascope
