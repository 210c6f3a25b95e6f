#pragma once

#include <cstddef>
#include <new>

namespace megascope {

/// An object in static storage that is never destroyed, because other threads may be in a call when
/// the process ends. For function-local statics; takes no memory from the heap itself.
template <class Object>
class NeverDestroyed {
 public:
  NeverDestroyed() { ::new (static_cast<void*>(storage_)) Object; }
  NeverDestroyed(const NeverDestroyed&) = delete;
  NeverDestroyed& operator=(const NeverDestroyed&) = delete;

  Object& operator*() noexcept { return *std::launder(reinterpret_cast<Object*>(storage_)); }

 private:
  alignas(Object) std::byte storage_[sizeof(Object)];
};

}  // namespace megascope
