#pragma once

#include "core/record/annotation.h"

#include <cstdint>
#include <string>

namespace megascope::chrome {

/// Name, category, time and arguments of a finding as members of a JSON object.
std::string finding_text(const Annotation& finding);

/// Events of a process "MegaScope findings", which is shown above the ranks, a row a finding: the
/// first events of a file. Empty without findings. event_count: how many there are is added.
std::string all_findings(const Annotations& annotations, std::uint64_t& event_count);

}  // namespace megascope::chrome
