#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::chrome {

/// Writes `trace.json.gz` into the job's folder: Trace Event Format (JSON object form), gzipped,
/// for chrome://tracing and whatever else reads it. Collective; the same result on all members.
/// Records are events. An existing file is not overwritten. Memory: names of one rank, 8 to 16
/// bytes for each of its messages, and 8 MiB of output.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::chrome
