#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Estimates the missing begin or end of the operations in Timeline::estimates from other
/// operations with the same name, on the same track if possible. Called by mend(). Does nothing if
/// Timeline::estimates is empty.
void estimate_ends(Timeline& timeline);

}  // namespace megascope::importer
