#pragma once

#include "analysis/hang/hang.h"
#include "exporters/report/run_report.h"

#include <nlohmann/json_fwd.hpp>

/// Ranks that reached neither MPI_Finalize nor MPI_Abort, for commands that print information about
/// a run.
namespace megascope::cli {

/// Whether the process of a trace is still running, as far as this machine can tell.
analysis::Existence existence_of(const ProcessInfo& info);

/// Returns whether the records of any process do not end with MPI_Finalize. Reads only definitions.
bool has_open_ends(const RecordSource& run);

/// Describes the ranks that reached neither MPI_Finalize nor MPI_Abort. The description is empty if
/// there are none.
report::OpenEndFacts open_ends_of(const analysis::HangReport& report,
                                  const analysis::CommTable& comms);
/// As above, for a run that is not analyzed yet. Returns an empty description if has_open_ends() is
/// false; otherwise reads all calls of the run with `jobs` threads.
report::OpenEndFacts open_ends_of(const RecordSource& run, unsigned jobs);

/// Returns the description as JSON; null if it is empty.
nlohmann::ordered_json open_ends_json(const report::OpenEndFacts& ends);

}  // namespace megascope::cli
