#include "core/base/status.h"

#include <cstring>

namespace megascope {

Status Status::from_errno(const std::string& what, int error_number) {
  char buffer[128] = "";
  return error(what + ": " + strerror_r(error_number, buffer, sizeof buffer));
}

}  // namespace megascope
