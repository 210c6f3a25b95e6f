#pragma once

#include "analysis/advice/facts.h"

#include <cstdint>
#include <vector>

namespace megascope::advice {

/// The rows of one pattern, function, communicator and site, over all ranks.
struct RowGroup {
  Row sum;                          ///< root_count: the greatest of one rank
  std::uint64_t max_count = 0;      ///< of one rank
  std::vector<std::int32_t> ranks;  ///< with such a row, ascending

  std::uint64_t mean_bytes() const { return sum.count == 0 ? 0 : sum.bytes / sum.count; }
};

/// The greatest time first.
std::vector<RowGroup> groups_of(const Facts& facts, Pattern pattern);

}  // namespace megascope::advice
