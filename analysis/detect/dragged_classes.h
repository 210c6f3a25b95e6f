#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Returns by which log factor slow ranks make a whole class slow, through work in which its ranks
/// synchronise: mean over the finding's active steps. Where such work has several groups, the class
/// is slow if more than two thirds of them (of two or three, all) have a slow rank. found: slow
/// units; classes are not used. finding: of the class.
double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found, std::size_t class_index,
               const Finding& finding);

}  // namespace megascope::detect
