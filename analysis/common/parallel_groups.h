#pragma once

#include "core/record/source.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::analysis {

/// Where all ranks of a run stand in its parallel groups, as far as they agree.
struct ParallelGroups {
  std::map<std::string, std::vector<std::int32_t>>
      indices;                        ///< by dimension: the index of each of source.world_ranks()
  std::vector<std::string> problems;  ///< sentences: what was told and cannot be
};

/// A dimension counts that all ranks tell with the same size, larger than 1. Together they must
/// divide the ranks evenly: each combination of indices as often as any other.
ParallelGroups parallel_groups(const RecordSource& source);

}  // namespace megascope::analysis
