#pragma once

#include "core/record/call.h"
#include "exporters/common/timeline.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace megascope::megascan {

/// Value of a step number of calls that belong to no step.
inline constexpr std::int32_t kNoStep = -1;
/// Returns the step that is annotated on the call or region itself; kNoStep if there is none.
std::int32_t step_of(const Call& call);

/// Determines the step of each event of a process. It is the first of these that exists: the step
/// of the call itself; the step of the innermost enclosing call that has a step; the step that is
/// open on the thread that annotated a step last.
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
