#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Returns the log factor by which slow ranks make their whole class slow, because the class
/// synchronises in some of its work. The result is the mean over the active steps of `finding`. If
/// the synchronised work has several groups, it makes the class slow only in steps in which more
/// than two thirds of the groups (of two or three groups, all) contain a slow rank. found: the slow
/// units that were found; units of kind kClass are ignored. class_index: index in Peers::classes.
/// finding: the finding of that class.
double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found, std::size_t class_index,
               const Finding& finding);

}  // namespace megascope::detect
