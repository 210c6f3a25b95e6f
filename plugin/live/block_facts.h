#pragma once

#include "plugin/live/history.h"
#include "plugin/tensors/step_block.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace megascope::live {

/// What a block says of a step (plugin/tensors/step_block.h), as the live view shows it.
struct BlockFacts {
  StepEntry times;
  bool has_statistics = false;  ///< false: ranks disagree on the step, and those of its tensors are
                                ///< not used
  std::vector<tensors::TensorSlot> slots;
  bool is_idle = false;  ///< on all ranks the step was a poll for requests that found none, and
                         ///< nothing else
  std::uint64_t dropped = 0;  ///< tensors for which the block had no room
};

/// ranks: of whom there are times. nullopt: the bytes are no block, or it is of no step.
std::optional<BlockFacts> facts_of(std::span<const std::byte> block, std::uint32_t ranks);

}  // namespace megascope::live
