#pragma once

#include "core/config/options.h"

#include <cstdint>

namespace megascope::config {

/// Returns the number of processes of the job on this node, from variables that launchers set (Open
/// MPI, Hydra, torchrun, Slurm; the largest one is used). Without such a variable it returns
/// world_size, as if all ranks were on this node. At least 1 and at most world_size.
std::uint32_t local_rank_count(EnvironmentView environment, std::uint32_t world_size);

}  // namespace megascope::config
