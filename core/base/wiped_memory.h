#pragma once

#include <cstddef>

namespace megascope {

/// Maps zeroed private memory for a thread's state that must not survive a fork: in a forked child
/// it is zeroed again (MADV_WIPEONFORK; not before Linux 4.14). `bytes` is rounded up to whole
/// pages. The memory is never unmapped. Returns nullptr if the kernel has no memory left.
void* fork_wiped_memory(std::size_t bytes) noexcept;

/// Maps zeroed private memory that a forked child does not have (MADV_DONTFORK). Unmap it with
/// munmap(2). Returns nullptr, with errno set, if the kernel has no memory left.
void* unforked_memory(std::size_t bytes) noexcept;

}  // namespace megascope
