#pragma once

#include "analysis/advice/facts.h"

#include <cstdint>
#include <vector>

namespace megascope::advice {

/// Sum of the rows of one pattern, function, communicator and call site over all ranks.
struct RowGroup {
  Row sum;  ///< sum of the rows. Exception: root_count is the largest value of one rank
  std::uint64_t max_count = 0;      ///< largest Row::count of one rank
  std::vector<std::int32_t> ranks;  ///< the world ranks with such a row, ascending

  std::uint64_t mean_bytes() const { return sum.count == 0 ? 0 : sum.bytes / sum.count; }
};

/// Returns the groups of a pattern, the one with the largest time first.
std::vector<RowGroup> groups_of(const Facts& facts, Pattern pattern);

}  // namespace megascope::advice
