#pragma once

#include <cstddef>
#include <new>

namespace megascope {

/// An object in static storage whose destructor never runs, because other threads may still use it
/// when the process exits. For function-local statics. Allocates no heap memory itself.
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
