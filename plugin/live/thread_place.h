#pragma once

#include <sched.h>

namespace megascope::live {

/// The processors that the calling thread may use; none: not known.
cpu_set_t processors_of_this_thread() noexcept;

/// Makes the calling thread a guest: named, behind others in priority, and not on `busy` where the
/// process may use others. What cannot be had is left as it is.
void settle_this_thread(const char* name, const cpu_set_t& busy) noexcept;

}  // namespace megascope::live
