#pragma once

#include "core/record/call.h"
#include "exporters/common/timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace megascope::megascan {

/// The call belongs to no step.
inline constexpr std::int32_t kNoStep = -1;
/// The step that a call or region carries itself; kNoStep: none.
std::int32_t step_of(const Call& call);

/// Determines the step of each event of a process: the step of the call itself, else of the
/// enclosing call, else, on threads that annotate no steps, the step open on the annotating thread.
class OpenSteps {
 public:
  /// Returns the step of the call or region that is entered; kNoStep for calls outside of steps and
  /// for events other than entries. Call it with all events of the process in order.
  std::int32_t follow(const timeline::Event& event);

 private:
  struct Open {
    std::size_t frame;
    std::int32_t step;
  };
  std::map<LocationId, std::vector<Open>> open_;
  std::int32_t latest_ = kNoStep;  ///< latest step on the thread that annotated one last
};

}  // namespace megascope::megascan
