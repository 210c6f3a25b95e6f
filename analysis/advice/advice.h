#pragma once

#include "analysis/advice/finding.h"
#include "core/record/source.h"

#include <vector>

namespace megascope::advice {

/// All that the rules find, the largest share first; findings without a time come last. Pure.
std::vector<Finding> advise(const Facts& facts);

/// Sets the regions of findings that have no call site, where the program annotates regions. Reads
/// the calls of the first rank of each such finding once; where there is none, nothing is read.
/// Throws what the source throws.
void name_regions(const RecordSource& source, const Facts& facts, std::vector<Finding>& findings);

}  // namespace megascope::advice
