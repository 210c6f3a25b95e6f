#pragma once

#include "core/config/options.h"

#include <cstdint>

namespace megascope::config {

/// How many processes of the job run on this node, by what launchers put into the environment (Open
/// MPI, Hydra, torchrun, Slurm; the largest counts). Where it is not told: world_size, as if all
/// were here. At least 1, at most world_size.
std::uint32_t local_rank_count(EnvironmentView environment, std::uint32_t world_size);

}  // namespace megascope::config
