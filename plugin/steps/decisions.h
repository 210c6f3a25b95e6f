#pragma once

#include "plugin/steps/step_block.h"

#include <cstdint>

namespace megascope::steps {

/// Rank 0's decisions, which its blocks carry to all ranks. Only on the thread that begins steps.
class Decisions {
 public:
  /// slots: of the first blocks. capture_count: as in the constructor of StepExchange.
  Decisions(std::uint32_t slots, std::uint64_t capture_count) : capture_count_(capture_count) {
    word_.is_announced = 1;
    word_.slots = slots;
  }

  /// Decides from a merged block. has_bad_element: a tensor of the trace has a NaN or infinite
  /// element. steps: number of blocks so far, including this one.
  void decide(const StepHeader& header, bool has_bad_element, std::uint64_t steps);
  const ControlWord& word() const { return word_; }
  ControlWord& word() { return word_; }

 private:
  std::uint64_t capture_count_;
  ControlWord word_;
  std::uint32_t max_used_ = 0;
};

}  // namespace megascope::steps
