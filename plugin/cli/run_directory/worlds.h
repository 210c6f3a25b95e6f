#pragma once

#include "core/trace/run_files.h"

#include <string>
#include <vector>

/// Runs that are connected because one spawned the other with MPI_Comm_spawn. They are found in the
/// same parent directory by the launcher's name of the worlds and by time.
namespace megascope::cli {

/// Directories of the runs that `run` in `directory` spawned, ascending.
std::vector<std::string> runs_started_by(const trace::RunSource& run, const std::string& directory);
/// Directory of the run that spawned it; empty if there is none or it is not here.
std::string run_that_started(const trace::RunSource& run, const std::string& directory);

}  // namespace megascope::cli
