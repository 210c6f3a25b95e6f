#pragma once

#include <cstdint>

namespace megascope {

class RankMailbox;
class StepReduction;

/// How ranks communicate at step boundaries. Whether `reduction` and `mailbox` are null is equal on
/// all ranks with equal `settings`. Both objects live until the process ends.
struct ControlPlan {
  StepReduction* reduction = nullptr;  ///< nullptr: they do not
  RankMailbox* mailbox = nullptr;      ///< nullptr: no rank updates
  std::uint64_t settings = 0;          ///< a number that must be equal on all ranks
  /// Timeout of a boundary that waits for the block that takes effect at it.
  std::uint64_t timeout_ns = 0;
};

}  // namespace megascope
