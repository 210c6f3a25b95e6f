#pragma once

#include <string>

namespace megascope {

/// Returns the first line of a small file, such as those in /proc and /sys, without the newline;
/// empty if the file cannot be read.
std::string first_line(const std::string& path);

}  // namespace megascope
