#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::perfetto {

/// Writes `trace.perfetto-trace` to the job's directory: Perfetto's native format, one packet
/// sequence for each rank. Collective; the same result on all members. ExportResult::records counts
/// slices. An existing file is not overwritten: returns an error that names it. Memory: names and
/// open calls of one rank, 8 to 16 bytes for each of its messages, and 8 MiB of output.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::perfetto
