#include "plugin/steps/decisions.h"

#include <algorithm>
#include <bit>

namespace megascope::steps {

void Decisions::decide(const StepHeader& header, bool has_bad_element, std::uint64_t steps) {
  if (has_bad_element && capture_count_ != 0 && word_.capture_number == 0) {
    word_.capture_number = 1;
    word_.capture_count = capture_count_;
  }
  max_used_ = std::max(max_used_, header.used);
  constexpr std::uint64_t kMaxStepsWithoutTensors = 8;
  if (max_used_ == 0 && steps < kMaxStepsWithoutTensors)
    return;  // no tensors so far; keep the initial number of slots, as many tensors may follow
  const std::uint64_t dropped = header.dropped + header.dropped_live;
  const std::uint64_t wanted = dropped != 0 ? header.used + dropped : max_used_;
  word_.slots = std::bit_ceil(
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, kMinSlots, kMaxSlots)));
}

}  // namespace megascope::steps
