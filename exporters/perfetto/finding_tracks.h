#pragma once

#include "core/record/annotation.h"
#include "core/record/source.h"
#include "exporters/common/joint_file.h"

#include <cstdint>

namespace megascope::perfetto {

/// Writes a packet sequence with a process "MegaScope findings", which is shown above the ranks, a
/// track a finding; and in each rank that a finding is about a track "findings", above its threads.
/// Nothing without findings. By one member; source: tells when the run was and how many ranks it
/// has. Returns the number of slices.
std::uint64_t write_findings(const RecordSource& source, const Annotations& annotations,
                             timeline::JointFile& file);

}  // namespace megascope::perfetto
