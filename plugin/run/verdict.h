#pragma once

#include "exporters/report/run_report.h"

#include <string>

namespace megascope::run {

/// Adds a verdict to the report: the first statements of `megascope analyze`. Only on rank 0.
/// Requires the traces of all ranks in the run directory, and a run small enough to be analyzed in
/// less than one second; otherwise adds the command to run instead. The analysis runs in a separate
/// process; its failures become notes of the report.
void add_verdict(const std::string& library_directory, const std::string& run_directory,
                 report::RunReport& report);

/// Adds only the command, without starting a process.
void add_verdict_command(const std::string& run_directory, report::RunReport& report);

}  // namespace megascope::run
