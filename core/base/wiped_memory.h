#pragma once

#include <cstddef>

namespace megascope {

/// Zeroed memory that a forked child sees zeroed again, for what a thread keeps of a recording that
/// is its parent's. Whole pages, never given back. nullptr: there is none.
void* fork_wiped_memory(std::size_t bytes) noexcept;

}  // namespace megascope
