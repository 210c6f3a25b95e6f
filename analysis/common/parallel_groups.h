#pragma once

#include "core/record/source.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::analysis {

/// The parallel groups (such as dp, tp, pp) that the ranks annotated. Inconsistent annotations are
/// ignored.
struct ParallelGroups {
  std::map<std::string, std::vector<std::int32_t>>
      indices;  ///< by dimension: the coordinate of each rank, by index in source.world_ranks()
  std::vector<std::string> problems;  ///< sentences for the user about annotations that are ignored
};

/// Collects the annotated dimensions. A dimension is used if all ranks annotated it with the same
/// size and the size is larger than 1. If the traces of all ranks are present, each combination of
/// coordinates must occur equally often; otherwise no dimension is used. O(ranks · dimensions).
ParallelGroups parallel_groups(const RecordSource& source);

}  // namespace megascope::analysis
