#pragma once

#include "plugin/live/model/history.h"
#include "plugin/steps/step_block.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace megascope::live {

/// The contents of a step block (plugin/steps/step_block.h) as used by the live view.
struct BlockFacts {
  StepEntry times;
  /// Whether the tensor statistics can be used. False if the ranks disagree on the number of the
  /// step or on the layout of the tensors, or if StepHeader::flags names another reason.
  bool has_statistics = false;
  std::vector<steps::TensorSlot> slots;
  bool is_idle = false;  ///< on all ranks the step was only a poll for requests that found none
  std::uint64_t dropped = 0;  ///< tensors that had no slot in the block
};

/// Decodes a block. ranks: number of ranks with times. Returns nullopt if the bytes are not a valid
/// block, or if the block describes no step.
std::optional<BlockFacts> facts_of(std::span<const std::byte> block, std::uint32_t ranks);

}  // namespace megascope::live
