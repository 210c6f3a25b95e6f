#pragma once

#include "core/lifecycle/export_job.h"

namespace megascope::otf2 {

/// Writes the run as an OTF2 archive: job.directory/trace.otf2 (anchor), trace.def and trace/.
///
/// Collective: each member writes the event files of its own ranks and does not hold events of
/// others. Definitions are unified in O(log members) rounds; events refer to global ids directly.
/// Processes are location groups "Rank 3", threads are locations; README.md lists the events for
/// each fact. Errors are the same on all members. An existing archive is not changed; an incomplete
/// one is removed. Memory: the definitions, and a chunk of 256 KiB; time: less than twice libotf2's
/// own for each event. One thread a process. OTF2 3.0.
Status run_export(const ExportJob& job, ExportResult& result);

}  // namespace megascope::otf2
