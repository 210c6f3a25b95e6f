#pragma once

#include "core/base/status.h"
#include "core/lifecycle/export_job.h"

namespace megascope::megascan {

/// Writes `benchmark-data-<D>-pipeline-<P>-tensor-<T>.json` into the job's folder, one file a rank
/// that has a trace. Collective; the same result on all members. Records are rows. Every rank needs
/// a place of its own in the parallel groups "dp", "pp" and "tp" (ProcessInfo::parallel; of those
/// that it does not name it is the only one). A folder that holds such files already is refused,
/// and nothing is left behind when something fails. Memory: about 150 bytes a call of one rank.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::megascan
