#pragma once

#include "analysis/advice/finding.h"
#include "core/record/source.h"

#include <vector>

namespace megascope::advice {

/// Applies all rules. Returns their findings in descending order of share; findings that cost no
/// time come last. Pure function.
std::vector<Finding> advise(const Facts& facts);

/// Sets Finding::region of findings that have no call site, if the program annotates regions: the
/// innermost region that contains most of the calls. Reads the calls of the first rank of each of
/// these findings once. Reads nothing if every finding has a call site or the program annotates no
/// regions. Throws what the source throws.
void name_regions(const RecordSource& source, const Facts& facts, std::vector<Finding>& findings);

}  // namespace megascope::advice
