#pragma once

#include <cstdint>

/// Memory from operator new, by owner: several in one thread take turns. In programs with
/// owned_heap.cpp.
namespace megascope::bench::heap {

/// 0 … count - 1, all at nothing. What was allocated for earlier owners counts for no owner.
void begin(int count);
/// Who allocates from now on; -1: no owner. Returns who did before. What is freed is taken from its
/// owner.
int set_owner(int owner) noexcept;
/// Most bytes of `owner` that lived at once.
std::uint64_t max_bytes(int owner);

}  // namespace megascope::bench::heap
