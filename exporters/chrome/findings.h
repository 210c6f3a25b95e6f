#pragma once

#include "core/record/annotation.h"

#include <cstdint>
#include <string>

namespace megascope::chrome {

/// Returns the name, category, time and arguments of a finding as members of a JSON object.
std::string finding_text(const Annotation& finding);

/// Returns the events of a process "MegaScope findings", which viewers show above the ranks, with
/// one row for each finding. They must be the first events of a file. Returns an empty text if
/// there are no findings. event_count: increased by the number of events.
std::string all_findings(const Annotations& annotations, std::uint64_t& event_count);

}  // namespace megascope::chrome
