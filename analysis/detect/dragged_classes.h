#pragma once

#include "analysis/detect/work_judge.h"

#include <cstddef>
#include <vector>

namespace megascope::detect {

/// Returns by which log factor slow or pausing ranks make a whole class slow, through work in which
/// its ranks synchronise: mean over the finding's active steps. Where such work has several groups,
/// the class is slow if most of them have a slow rank. found: slow units; classes are not used.
/// stalls: by rank, result of stalled_ranks(), or empty. finding: of the class.
double dragged(const WorkSeries& work, const std::vector<SlowUnit>& found,
               const std::vector<Finding>& stalls, std::size_t class_index, const Finding& finding);

}  // namespace megascope::detect
