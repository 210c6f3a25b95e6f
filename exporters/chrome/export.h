#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::chrome {

/// Writes `trace.json.gz` to the job's directory: Trace Event Format (JSON object form), gzipped,
/// for chrome://tracing and other readers. Collective; the same result on all members.
/// ExportResult::records counts events. An existing file is not overwritten. Memory: names of one
/// rank, 8 to 16 bytes for each of its messages, and 8 MiB of output.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::chrome
