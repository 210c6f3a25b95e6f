#pragma once

#include "core/record/annotation.h"

#include <cstdint>
#include <string>

namespace megascope::chrome {

/// Name, category, time and arguments of a finding as members of a JSON object.
std::string finding_text(const Annotation& finding);

/// The events of a process "MegaScope findings", shown above the ranks with one row for each
/// finding. These are the first events of a file. Empty if there are no findings. event_count:
/// increased by the number of events.
std::string all_findings(const Annotations& annotations, std::uint64_t& event_count);

}  // namespace megascope::chrome
