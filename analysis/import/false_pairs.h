#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Takes pairs of a begin and an end apart that belong to two operations, each of which lacks the
/// other: such a pair encloses another operation of its name on its track, lasts more than twice as
/// long as any that does not, and is an exception there (at most 2 % of 50 or more: a function that
/// calls itself is none). Both become estimates. No cost where a timeline has no pairs.
void split_false_pairs(Timeline& timeline);

}  // namespace megascope::importer
