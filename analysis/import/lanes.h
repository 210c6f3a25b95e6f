#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

inline constexpr std::size_t kMaxLanes = 256;  ///< of a track
inline constexpr std::size_t
    kDeepestNesting = 7;  ///< operations around another, in a lane: what a trace can say

/// One row of a worker in which operations lie side by side, or within work that encloses them.
struct Lane {
  std::string name;                       ///< "pp-comm", "pp-comm (2)"
  bool is_extra = false;                  ///< not the first of its track
  std::vector<std::uint32_t> operations;  ///< in Timeline::operations, in order of begin
};

/// The rows of a worker: a track of its own each, and where operations of one track overlap in
/// part, one more. Communication encloses nothing. operations: those of the worker, in order of
/// begin. is_work: by name. An error names the track that would need more than kMaxLanes.
Status lanes_of(const Timeline& timeline, const std::vector<std::uint32_t>& operations,
                const std::vector<bool>& is_work, std::vector<Lane>& lanes);

}  // namespace megascope::importer
