#pragma once

#include "core/record/call.h"
#include "core/record/definitions.h"

#include <cstdint>
#include <vector>

namespace megascope::chrome {

/// How one member of a collective takes part in its arrows. In this format an arrow's start must
/// not lie behind its end in time, or it is lost; so each arrow follows the data: its start is
/// where a member enters, its end where a member leaves that cannot have left before.
///
/// From one to all (bcast, scatter): from the root to each. From all to one (gather, reduce): from
/// each to the root. Else nobody leaves before all have entered: from the first rank through the
/// others, in the order of leaving.
class CollectiveArrows {
 public:
  /// process must outlive this object.
  explicit CollectiveArrows(const ProcessDefinitions& process)
      : comms_(process.comms), world_rank_(process.info.world_rank) {}

  struct Part {
    std::uint64_t start = 0;  ///< id of the arrow that starts where the member enters; 0: none
    std::uint64_t step = 0;   ///< id of the arrow that goes through where the member leaves
    std::vector<std::uint64_t> ends;  ///< ids of the arrows that end where the member leaves
  };
  /// fact: a start or completion of a collective; operation: which.
  Part part_of(const Fact& fact, CollectiveOp operation) const;

 private:
  Part to_root(const Fact& fact, const CommDefinition& comm, std::uint64_t id) const;
  bool is_first(const CommDefinition& comm) const;
  bool is_root(const Fact& fact, const CommDefinition& comm) const;

  const std::vector<CommDefinition>& comms_;
  std::int32_t world_rank_;
};

}  // namespace megascope::chrome
