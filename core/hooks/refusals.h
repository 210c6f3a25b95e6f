#pragma once

#include "core/record/definitions.h"

namespace megascope {
class Recorder;
}

namespace megascope::hooks {

/// Counts something that the program told and that is not recorded, or not as it was told, and
/// remembers why: the calling thread's last reason. cause: kUnbalanced or kRefused. reason: a
/// sentence, cut at 255 bytes. Any thread, any time; slow.
void refuse(LossCause cause, const char* reason) noexcept;
/// The calling thread's last reason; empty when there was none. Valid until the thread's next
/// refusal.
const char* last_refusal() noexcept;

/// What was refused before is counted there too. nullptr: nowhere, from now on.
void count_refusals_in(Recorder* recorder) noexcept;

}  // namespace megascope::hooks
