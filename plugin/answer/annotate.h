#pragma once

#include "core/record/annotation.h"
#include "plugin/answer/answer.h"

namespace megascope::answer {

/// Returns the annotations that exports add to a timeline. Times are those of the run as
/// Answer::in_order() describes them.
/// - Each root cause, on its ranks, from its first to its last step. If the times of these steps
/// are not known, the annotation covers the example step only.
/// - The example step of each root cause (detect::Evidence), if there is one, on one rank: the
/// operation with its observed and expected time. When there are 128 annotations of these two
/// kinds, no further root cause is added.
/// - All waits of 1 µs or longer, except those that contain another wait.
Annotations annotations_of(const Answer& answer);

}  // namespace megascope::answer
