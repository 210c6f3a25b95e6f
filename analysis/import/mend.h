#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Repairs a timeline after it was read: estimates missing begins and ends (Timeline::estimates),
/// sorts operations by begin (enclosing before enclosed), removes duplicates, and corrects steps
/// that are out of order. Counts the repairs in Timeline::repairs.
void mend(Timeline& timeline);

}  // namespace megascope::importer
