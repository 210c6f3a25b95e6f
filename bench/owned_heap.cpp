#include "bench/owned_heap.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace megascope::bench::heap {
namespace {

struct Held {
  std::uint64_t bytes;
  std::uint64_t max_bytes;
};

/// In front of each block.
struct alignas(16) Label {
  std::uint64_t size_bytes;
  std::int32_t owner;
  std::int32_t generation;
};

Held* g_held = nullptr;
std::int32_t g_owner = -1;
std::int32_t g_generation = 0;

}  // namespace

void begin(int count) {
  std::free(g_held);
  g_held = static_cast<Held*>(std::calloc(static_cast<std::size_t>(count), sizeof(Held)));
  ++g_generation;
  g_owner = -1;
}

int set_owner(int owner) noexcept {
  const int before = g_owner;
  g_owner = owner;
  return before;
}

std::uint64_t max_bytes(int owner) { return g_held[owner].max_bytes; }

namespace {

void* allocate(std::size_t size_bytes) {
  auto* label = static_cast<Label*>(std::malloc(sizeof(Label) + size_bytes));
  if (label == nullptr) throw std::bad_alloc();
  *label = {size_bytes, g_owner, g_generation};
  if (g_owner >= 0) {
    Held& held = g_held[g_owner];
    held.bytes += size_bytes;
    held.max_bytes = std::max(held.max_bytes, held.bytes);
  }
  return label + 1;
}

void release(void* block) noexcept {
  if (block == nullptr) return;
  Label* label = static_cast<Label*>(block) - 1;
  if (label->owner >= 0 && label->generation == g_generation)
    g_held[label->owner].bytes -= label->size_bytes;
  std::free(label);
}

}  // namespace
}  // namespace megascope::bench::heap

void* operator new(std::size_t size_bytes) { return megascope::bench::heap::allocate(size_bytes); }
void* operator new[](std::size_t size_bytes) {
  return megascope::bench::heap::allocate(size_bytes);
}
void operator delete(void* block) noexcept { megascope::bench::heap::release(block); }
void operator delete[](void* block) noexcept { megascope::bench::heap::release(block); }
void operator delete(void* block, std::size_t) noexcept { megascope::bench::heap::release(block); }
void operator delete[](void* block, std::size_t) noexcept {
  megascope::bench::heap::release(block);
}
