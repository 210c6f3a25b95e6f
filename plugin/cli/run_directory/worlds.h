#pragma once

#include "core/trace/run_files.h"

#include <string>
#include <vector>

/// Finds runs that are connected because one spawned the other with MPI_Comm_spawn. The run
/// directories must have the same parent directory. Connected runs are recognised by the names that
/// the launcher gave their worlds, and by the times when they started.
namespace megascope::cli {

/// Returns the directories of the runs that `run` spawned, ascending. directory: the directory of
/// `run`.
std::vector<std::string> runs_started_by(const trace::RunSource& run, const std::string& directory);
/// Returns the directory of the run that spawned `run`. Returns an empty string if `run` was not
/// spawned or if that directory is not found. directory: the directory of `run`.
std::string run_that_started(const trace::RunSource& run, const std::string& directory);

}  // namespace megascope::cli
