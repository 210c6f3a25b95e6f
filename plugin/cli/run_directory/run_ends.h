#pragma once

#include "analysis/hang/hang.h"
#include "exporters/report/run_report.h"

#include <nlohmann/json_fwd.hpp>

/// Ranks that reached neither MPI_Finalize nor MPI_Abort, for commands that print information about
/// a run.
namespace megascope::cli {

/// Whether the process of a trace is still running, as far as this machine can tell.
analysis::Life life_of(const ProcessInfo& info);

/// Whether any process ended without MPI_Finalize. Reads only definitions.
bool has_open_ends(const RecordSource& run);

/// The description of the ranks without an end.
report::OpenEndFacts open_ends_of(const analysis::HangReport& report,
                                  const analysis::CommTable& comms);
/// Reads all calls of the run with `jobs` threads, if has_open_ends().
report::OpenEndFacts open_ends_of(const RecordSource& run, unsigned jobs);

/// The same as JSON; null if there are none.
nlohmann::ordered_json open_ends_json(const report::OpenEndFacts& ends);

}  // namespace megascope::cli
