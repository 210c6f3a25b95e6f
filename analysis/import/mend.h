#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Makes a timeline of what was read: estimates begins and ends that are missing
/// (Timeline::estimates), orders operations by begin, the enclosing before the enclosed, takes
/// those once that are in the file more than once, and mends steps that are out of order. What was
/// mended is counted in Timeline::repairs.
void mend(Timeline& timeline);

}  // namespace megascope::importer
