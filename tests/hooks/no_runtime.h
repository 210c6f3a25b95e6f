#pragma once

#include <string>
#include <vector>

namespace megascope {

/// What the runtime of tests was to tell the user, in this process.
extern std::vector<std::string> complaints;

}  // namespace megascope
