#pragma once

#include "core/record/call.h"
#include "exporters/common/timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace megascope::megascan {

/// Of a call that belongs to no step.
inline constexpr std::int32_t kNoStep = -1;
/// The step that a call, or a region of the program, tells itself.
std::int32_t step_of(const Call& call);

/// Which step each event of a process belongs to: the one that the call tells, else the one of what
/// encloses it, else, on other threads than the one that tells steps, the one that is open there.
class OpenSteps {
 public:
  /// Of the call or region that is entered; to be called with every event of the process, in order.
  std::int32_t follow(const timeline::Event& event);

 private:
  struct Open {
    std::size_t frame;
    std::int32_t step;
  };
  std::map<LocationId, std::vector<Open>> open_;
  std::int32_t latest_ = kNoStep;  ///< of the thread that told one last
};

}  // namespace megascope::megascan
