#pragma once

#include <cstddef>

namespace megascope {

/// Maps zeroed memory that a forked child finds zeroed again (MADV_WIPEONFORK), for a thread's
/// state that must not survive a fork. Whole pages; never unmapped. Returns nullptr if the kernel
/// provides none.
void* fork_wiped_memory(std::size_t bytes) noexcept;

}  // namespace megascope
