#pragma once

#include "analysis/hang/hang.h"
#include "exporters/report/run_report.h"

#include <nlohmann/json_fwd.hpp>

/// Ranks of a run that reached neither MPI_Finalize nor MPI_Abort, for the commands that print of a
/// run.
namespace megascope::cli {

/// Is the process of a trace there, as far as this machine can know?
analysis::Life life_of(const ProcessInfo& info);

/// Did any process end in another way than by MPI_Finalize? Asks the definitions only.
bool has_open_ends(const RecordSource& run);

report::OpenEndFacts open_ends_of(const analysis::HangReport& report,
                                  const analysis::CommTable& comms);
/// Reads all calls of the run, with `jobs` threads, if has_open_ends().
report::OpenEndFacts open_ends_of(const RecordSource& run, unsigned jobs);

/// null where there are none.
nlohmann::ordered_json open_ends_json(const report::OpenEndFacts& ends);

}  // namespace megascope::cli
