#pragma once

#include "core/base/status.h"

#include <string>

namespace megascope::files {

/// Owns a file descriptor and closes it in the destructor. -1: owns none.
class Descriptor {
 public:
  Descriptor() noexcept = default;
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  int release() noexcept;
  void reset() noexcept;
  /// Closes the descriptor. Returns an error that names `name` if close(2) fails; EINTR is not an
  /// error.
  Status close(const std::string& name);

 private:
  int number_ = -1;
};

}  // namespace megascope::files
