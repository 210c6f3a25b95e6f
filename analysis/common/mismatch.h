#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/comm_table.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// The first collective of a communicator, window or file that its members do not say alike.
struct Mismatch {
  enum class What : std::uint8_t {
    kFunction,  ///< another function at the same number
    kRoot,
    kBytes,
    kCount,  ///< all alike, but some members ended after fewer of them
  };
  struct Participant {
    CollectiveShape shape;                  ///< of kCount: of the last one, its function alone
    std::uint32_t count = 0;                ///< kCount: collectives made
    std::vector<std::int32_t> world_ranks;  ///< ascending
  };
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;  ///< its number, from 0; not of kCount
  What what = What::kFunction;
  std::vector<Participant> participants;  ///< the largest first
};

}  // namespace megascope::analysis
