#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::megascan {

/// Writes `benchmark-data-<D>-pipeline-<P>-tensor-<T>.json` to the job's directory, one file for
/// each rank with a trace. Collective; the same result on all members. ExportResult::records counts
/// rows.
/// Every rank needs unique coordinates in the parallel groups "dp", "pp" and "tp"
/// (ProcessInfo::parallel); a group that is not annotated has size 1. Returns an error if the
/// directory contains such files already. On failure all files are removed. Memory: about 150 bytes
/// for each call of one rank.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::megascan
