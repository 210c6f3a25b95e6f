#include "core/config/local_ranks.h"

#include "core/base/text.h"

#include <algorithm>
#include <string_view>

namespace megascope::config {
namespace {

/// Returns the largest count in Slurm's list "4(x2),3". The list does not say which entry is this
/// node's.
std::uint64_t largest_count(std::string_view list) {
  std::uint64_t largest = 0;
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    largest = std::max(largest, parse_count(entry.substr(0, entry.find('('))).value_or(0));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
  }
  return largest;
}

}  // namespace

std::uint32_t local_rank_count(EnvironmentView environment, std::uint32_t world_size) {
  constexpr std::string_view kNames[] = {
      "OMPI_COMM_WORLD_LOCAL_SIZE=", "MPI_LOCALNRANKS=",           "PMI_LOCAL_SIZE=",
      "LOCAL_WORLD_SIZE=",           "SLURM_STEP_TASKS_PER_NODE=", "SLURM_TASKS_PER_NODE="};
  const std::uint64_t most = std::max(world_size, 1U);
  std::uint64_t found = 0;
  // Use the largest: torchrun may start several processes in one task of Slurm.
  for (const std::string_view name : kNames) {
    for (const std::string& entry : environment) {
      if (std::string_view(entry).starts_with(name))
        found = std::max(found, largest_count(std::string_view(entry).substr(name.size())));
    }
  }
  return static_cast<std::uint32_t>(found == 0 ? most : std::min(found, most));
}

}  // namespace megascope::config
