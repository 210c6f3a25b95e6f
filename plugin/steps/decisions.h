#pragma once

#include "plugin/steps/step_block.h"

#include <cstdint>

namespace megascope::steps {

/// Makes rank 0's decisions, that is, the control word that its blocks carry to all ranks. Only on
/// the thread that begins steps.
class Decisions {
 public:
  /// slots: number of tensor slots of the first blocks. capture_count: as in the constructor of
  /// StepExchange.
  Decisions(std::uint32_t slots, std::uint64_t capture_count) : capture_count_(capture_count) {
    word_.is_announced = 1;
    word_.slots = slots;
  }

  /// Makes the decisions that follow from a merged block: whether to record steps, and the number
  /// of slots. header: that of the block. has_bad_element: whether a tensor recorded in the trace
  /// has a NaN or infinite element. steps: number of merged blocks so far, including this one.
  void decide(const StepHeader& header, bool has_bad_element, std::uint64_t steps);
  const ControlWord& word() const { return word_; }
  ControlWord& word() { return word_; }

 private:
  std::uint64_t capture_count_;
  ControlWord word_;
  std::uint32_t max_used_ = 0;
};

}  // namespace megascope::steps
