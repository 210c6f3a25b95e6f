#pragma once

#include "analysis/import/timeline.h"

namespace megascope::importer {

/// Splits false pairs: a begin and an end that belong to two different operations, because one
/// operation lost its end and the other its begin. Of the operations with one name on one track, an
/// operation is taken for a false pair if all of this holds:
/// - It encloses another one of these operations.
/// - It is more than twice as long as each of them that encloses no other.
/// - There are at least 50 of these operations, and at most 2 % of them are false pairs. (Recursive
///   functions enclose each other more often.)
///
/// Both operations of a false pair are added to Timeline::estimates. Called by mend(). Does nothing
/// if the timeline has no pairs.
void split_false_pairs(Timeline& timeline);

}  // namespace megascope::importer
