#pragma once

#include "analysis/common/collective_shape.h"
#include "analysis/common/comm_table.h"

#include <cstdint>
#include <vector>

namespace megascope::analysis {

/// A collective on which the members of a communicator, window or file do not agree: an error of
/// the application (MPI-4.1 §6).
struct Mismatch {
  enum class What : std::uint8_t {
    kFunction,  ///< members called different functions as their collective number `sequence`
    kRoot,      ///< members passed different roots
    kBytes,     ///< members passed different sizes
    kCount,     ///< the collectives do not differ, but some members called fewer of them
  };
  struct Participant {
    CollectiveShape shape;    ///< shape of the call of these members; kCount: of their last
                              ///< collective. Fields that are not known have their default values
    std::uint32_t count = 0;  ///< kCount: number of collectives that they made
    std::vector<std::int32_t> world_ranks;  ///< ascending
  };
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;  ///< number of the collective, from 0
  What what = What::kFunction;
  std::vector<Participant>
      participants;  ///< one entry for each set of members that agree; the largest set first
};

}  // namespace megascope::analysis
