#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

inline constexpr std::size_t kMaxLanes = 256;  ///< largest number of lanes of one track
inline constexpr std::size_t
    kDeepestNesting = 7;  ///< largest number of operations that enclose one operation in a lane.
                          ///< Traces support no more

/// One row of a worker's operations. Any two operations of a lane are disjoint, or one is work that
/// encloses the other.
struct Lane {
  std::string name;                       ///< "pp-comm", "pp-comm (2)"
  bool is_extra = false;                  ///< true: not the first lane of its track
  std::vector<std::uint32_t> operations;  ///< indices in Timeline::operations, in order of begin
};

/// Distributes the operations of a worker over lanes: one lane per track, and additional lanes if
/// operations of a track overlap partially. Communication encloses no other operation. operations:
/// the operations of the worker, in order of begin. is_work: by name index, true for operations
/// that may enclose others. An error names the track that needs more than kMaxLanes.
Status lanes_of(const Timeline& timeline, const std::vector<std::uint32_t>& operations,
                const std::vector<bool>& is_work, std::vector<Lane>& lanes);

}  // namespace megascope::importer
