#pragma once

#include <sched.h>

namespace megascope::live {

/// Returns the CPU affinity of the calling thread; an empty set if it is not known.
cpu_set_t affinity_of_this_thread() noexcept;

/// Sets up the calling thread as a background thread: sets its name, lowers its scheduling
/// priority, and removes the processors `busy` from its affinity if the process may use others.
/// Failures are ignored.
void make_background_thread(const char* name, const cpu_set_t& busy) noexcept;

}  // namespace megascope::live
