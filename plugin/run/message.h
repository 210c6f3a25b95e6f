#pragma once

#include <string>

namespace megascope::run {

/// Writes one line, with the prefix "megascope: ", to standard error. Control characters, which
/// paths can contain, are escaped. Any thread; errors are ignored.
void say(const std::string& line);

}  // namespace megascope::run
