#pragma once

#include "core/record/annotation.h"
#include "plugin/answer/answer.h"

namespace megascope::answer {

/// Returns the annotations that exports add to a timeline. Times are those of the run as
/// Answer::in_order() describes them.
/// - Root causes, each from its first to its last step on the ranks concerned; if the times of
///   these steps are not known, over the example step.
/// - For each of them its example step (detect::Evidence), if it has one, on one rank: the
///   operation with its observed and expected time. With the root causes at most 128.
/// - All waits of 1 µs or longer, except those that contain another wait.
Annotations annotations_of(const Answer& answer);

}  // namespace megascope::answer
