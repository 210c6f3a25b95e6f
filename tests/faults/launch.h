#pragma once

#include <string>
#include <vector>

/// The launcher of the MPI library that this build is for, in words.
namespace megascope::faults {

/// Is it MPICH (else Open MPI)?
bool is_mpich();
/// The launcher itself: "mpirun.openmpi --oversubscribe", "mpiexec.hydra".
std::vector<std::string> launcher();
/// Options of one part of a job: so many ranks, with `preload` or (empty) without.
std::vector<std::string> ranks_with(int rank_count, const std::string& preload);
/// NAME=VALUE for processes on this machine: more ranks than cores, no copying between processes,
/// started by root. rank_count: 0 without a launcher.
std::vector<std::string> launch_environment(int rank_count);
/// Where a process finds its rank before MPI_Init.
const char* rank_variable();

}  // namespace megascope::faults
