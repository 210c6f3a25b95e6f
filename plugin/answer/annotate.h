#pragma once

#include "core/record/annotation.h"
#include "plugin/answer/answer.h"

namespace megascope::answer {

/// What timelines show of the answer, in the times of answer.in_order(): each root cause from its
/// first to its last step, and the step that shows it best; the waits of all ranks that took a
/// microsecond or longer.
Annotations annotations_of(const Answer& answer);

}  // namespace megascope::answer
