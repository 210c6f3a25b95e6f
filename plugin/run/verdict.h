#pragma once

#include "exporters/report/run_report.h"

#include <string>

namespace megascope::run {

/// Puts into the report of a run, on rank 0, what `megascope analyze` would say first, where all
/// ranks' traces are in the run folder and it takes less than a second; where it would take longer,
/// the command that says it. By a process of its own: whatever goes wrong there is a note.
void add_verdict(const std::string& library_folder, const std::string& run_folder,
                 report::RunReport& report);

/// Puts only the command there, where nothing is to be started.
void add_verdict_command(const std::string& run_folder, report::RunReport& report);

}  // namespace megascope::run
