#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <string>

namespace megascope::importer {

/// Reads a directory of MegaScan's files, `benchmark-data-<D>-pipeline-<P>-tensor-<T>.json`, one a
/// worker. Its clocks were never compared: as MegaScan itself does, an iteration begins on all
/// workers at once, behind the longest pause and iteration before. Iterations are steps, counted
/// from 0. Untrusted. A worker whose file is damaged is left out, with a note; where all are, the
/// error names the file and the event.
Status read_megascan(const std::string& directory, Timeline& timeline);

}  // namespace megascope::importer
