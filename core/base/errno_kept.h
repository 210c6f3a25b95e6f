#pragma once

#include <cerrno>

namespace megascope {

/// Saves errno in the constructor and restores it in the destructor.
class ErrnoKept {
 public:
  ErrnoKept() noexcept : value_(errno) {}
  ~ErrnoKept() { errno = value_; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;

 private:
  int value_;
};

}  // namespace megascope
