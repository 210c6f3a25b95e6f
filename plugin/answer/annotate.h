#pragma once

#include "core/record/annotation.h"
#include "plugin/answer/answer.h"

namespace megascope::answer {

/// Returns the annotations that exports add to a timeline, in the times of answer.in_order(): each
/// root cause from its first to its last step, its example step (detect::Evidence), and all waits
/// of a microsecond or longer.
Annotations annotations_of(const Answer& answer);

}  // namespace megascope::answer
