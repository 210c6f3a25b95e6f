#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Gives operations of Timeline::estimates the begin or end that is missing, from the others of
/// their name and track. No cost where there are none.
void estimate_ends(Timeline& timeline);

}  // namespace megascope::importer
