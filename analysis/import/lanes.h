#pragma once

#include "analysis/import/timeline.h"
#include "core/base/status.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

inline constexpr std::size_t kMaxLanes = 256;      ///< per track
inline constexpr std::size_t kDeepestNesting = 7;  ///< largest number of operations that enclose
                                                   ///< another in a lane; the limit of traces

/// One row of a worker's operations: they are disjoint, or nested in work that encloses them.
struct Lane {
  std::string name;                       ///< "pp-comm", "pp-comm (2)"
  bool is_extra = false;                  ///< not the first of its track
  std::vector<std::uint32_t> operations;  ///< indices in Timeline::operations, in order of begin
};

/// Distributes the operations of a worker over lanes: one lane per track, and more where operations
/// of a track overlap partially. Communication encloses no other operation. operations: those of
/// the worker, in order of begin. is_work: by name index; may enclose others. An error names the
/// track that needs more than kMaxLanes.
Status lanes_of(const Timeline& timeline, const std::vector<std::uint32_t>& operations,
                const std::vector<bool>& is_work, std::vector<Lane>& lanes);

}  // namespace megascope::importer
