#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Splits pairs of a begin and an end that belong to two different operations, of which one lost
/// its end and the other its begin. Such a pair encloses another operation with its name on its
/// track, lasts more than twice as long as any that does not, and is rare there (at most 2 % of 50
/// or more; recursive functions are more frequent). Both operations are added to
/// Timeline::estimates. Called by mend(). Returns at once if the timeline has no pairs.
void split_false_pairs(Timeline& timeline);

}  // namespace megascope::importer
