#pragma once

#include <string>

namespace megascope {

/// Of a small file, as those below /proc and /sys; empty when it cannot be read.
std::string first_line(const std::string& path);

}  // namespace megascope
