#pragma once

#include "core/trace/run_folder.h"

#include <string>
#include <vector>

/// Runs that belong together, because MPI_Comm_spawn of one started the other. They are found
/// beside each other: by the name that the launcher gave the worlds, and by when they ran.
namespace megascope::cli {

/// Folders of the runs that `run`, which lies in `folder`, started; ascending.
std::vector<std::string> runs_started_by(const trace::RunSource& run, const std::string& folder);
/// The folder of the run that started it; empty when there is none or it is not here.
std::string run_that_started(const trace::RunSource& run, const std::string& folder);

}  // namespace megascope::cli
