#pragma once

#include <cstdint>

namespace megascope {

class RankMailbox;
class StepReduction;

/// Describes how ranks communicate at step boundaries. On ranks with equal `settings`, `reduction`
/// is null on all or on none, and so is `mailbox`. Both objects live until the process ends.
struct ControlPlan {
  StepReduction*
      reduction = nullptr;  ///< merges the blocks of all ranks; nullptr: ranks exchange no blocks
  RankMailbox*
      mailbox = nullptr;  ///< makes and receives rank updates; nullptr: no rank updates are sent
  std::uint64_t settings = 0;  ///< a number that must be equal on all ranks
  /// Longest time that a step boundary waits for the merged block whose decisions take effect at
  /// it.
  std::uint64_t timeout_ns = 0;
};

}  // namespace megascope
