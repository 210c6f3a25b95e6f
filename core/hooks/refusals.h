#pragma once

#include "core/record/definitions.h"

namespace megascope {
class Recorder;
}

namespace megascope::hooks {

/// Counts a call that was ignored or changed, and stores the reason for the calling thread. cause:
/// kUnbalanced or kRefused. reason: one sentence, cut at 255 bytes. Any thread, any time. Not for
/// the hot path.
void refuse(LossCause cause, const char* reason) noexcept;
/// Returns the calling thread's last reason; empty if there is none. Valid until the thread's next
/// refusal.
const char* last_refusal() noexcept;

/// Counts refusals in `recorder` from now on, including those since process start. nullptr: stop
/// counting.
void count_refusals_in(Recorder* recorder) noexcept;

}  // namespace megascope::hooks
