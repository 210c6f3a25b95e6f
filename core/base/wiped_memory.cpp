#include "core/base/wiped_memory.h"

#include <sys/mman.h>

namespace megascope {

void* fork_wiped_memory(std::size_t bytes) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, MADV_WIPEONFORK);
  return memory;
}

}  // namespace megascope
