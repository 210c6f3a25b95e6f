#pragma once

#include <cstdint>
#include <vector>

#include "analysis/hang/comm_table.h"
#include "analysis/hang/wants.h"

namespace megascope::analysis {

/// The first collective of a communicator, window or file that its members do not say alike.
struct Mismatch {
  enum class What : std::uint8_t {
    kFunction,  ///< another function at the same number
    kRoot,
    kBytes,
    kCount,     ///< all alike, but some members ended after fewer of them
  };
  struct Party {
    CollectiveShape shape;    ///< of kCount: of the last one, its function alone
    std::uint32_t count = 0;  ///< kCount: collectives made
    std::vector<std::int32_t> world_ranks;  ///< ascending
  };
  CommTable::Index comm = CommTable::kNone;
  std::uint32_t sequence = 0;  ///< its number, from 0; not of kCount
  What what = What::kFunction;
  std::vector<Party> parties;  ///< the largest first
};

/// At most one a communicator, window and file, in the order of `comms`. Compares hashes first; only where they differ, or are not known, calls
/// are read again, of all members at once, up to the first that differs. Left out: communicators that members may take for
/// another one (CommTable::Entry::is_sure), and for kCount processes that have not reached MPI_Finalize or lost calls.
std::vector<Mismatch> find_mismatches(const Processes& processes, const CommTable& comms);

}  // namespace megascope::analysis
