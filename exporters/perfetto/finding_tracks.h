#pragma once

#include "core/record/annotation.h"
#include "core/record/source.h"
#include "exporters/common/joint_file.h"

#include <cstdint>

namespace megascope::perfetto {

/// Writes a packet sequence with a process "MegaScope findings", shown above the ranks with one
/// track for each finding, and a track "findings" in each affected rank, above its threads. Writes
/// nothing if there are no findings. Of the processes that write `file` together (its members),
/// only one calls this function. source: provides the time and size of the run. Returns the number
/// of slices.
std::uint64_t write_findings(const RecordSource& source, const Annotations& annotations,
                             timeline::JointFile& file);

}  // namespace megascope::perfetto
