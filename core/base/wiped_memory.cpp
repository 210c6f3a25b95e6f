#include "core/base/wiped_memory.h"

#include <sys/mman.h>

namespace megascope {
namespace {

void* private_memory(std::size_t bytes, int advice) noexcept {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, bytes, advice);
  return memory;
}

}  // namespace

void* fork_wiped_memory(std::size_t bytes) noexcept {
  return private_memory(bytes, MADV_WIPEONFORK);
}

void* unforked_memory(std::size_t bytes) noexcept { return private_memory(bytes, MADV_DONTFORK); }

}  // namespace megascope
