#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <string>

namespace megascope::importer {

/// Reads a directory of MegaScan's files, `benchmark-data-<D>-pipeline-<P>-tensor-<T>.json`, one
/// per worker. The clocks of workers are not synchronised. As in MegaScan, each iteration is
/// assumed to begin on all workers at the same time, after the longest previous iteration and
/// pause. Iterations become steps, from 0. The input is untrusted. Workers with a damaged file are
/// omitted, with a note; if all are damaged, the error names the file and the event.
Status read_megascan(const std::string& directory, Timeline& timeline);

}  // namespace megascope::importer
