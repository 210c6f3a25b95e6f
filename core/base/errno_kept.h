#pragma once

#include <cerrno>

namespace megascope {

/// Restores errno at the end of its scope.
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
