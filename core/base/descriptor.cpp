#include "core/base/descriptor.h"

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace megascope::files {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    reset();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() noexcept { return std::exchange(number_, -1); }

void Descriptor::reset() noexcept {
  if (number_ >= 0) ::close(release());
}

Status Descriptor::close(const std::string& name) {
  if (number_ < 0 || ::close(release()) == 0 || errno == EINTR) return Status::ok();
  return Status::from_errno("cannot write " + name, errno);
}

}  // namespace megascope::files
