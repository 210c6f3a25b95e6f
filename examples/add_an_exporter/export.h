#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::calls_csv {

/// Writes `calls.csv` to the job's directory: a header, and one line for each call and annotated
/// region. Collective; the same result on all members. ExportResult::records counts calls. An
/// existing file is not overwritten. Memory: one line, and JointFile's buffer.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::calls_csv
