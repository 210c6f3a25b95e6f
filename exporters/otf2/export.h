#pragma once

#include "core/lifecycle/export_job.h"

namespace megascope::otf2 {

/// Writes the run as an OTF2 archive: job.folder/trace.otf2 (anchor), trace.def and trace/.
///
/// All members write together, each the event files of the ranks that it holds; nobody holds
/// another member's events. Definitions are unified in O(log members) rounds, events refer to
/// global ids directly. Processes are location groups "Rank 3", threads are locations; README.md
/// says what becomes of which fact. Errors are the same on all members. An archive that exists is
/// not touched; one that could not be finished is removed. Memory: the definitions, and a chunk of
/// 256 KiB; time: libotf2's own per event, times less than two. One thread a process. OTF2 3.0.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::otf2
