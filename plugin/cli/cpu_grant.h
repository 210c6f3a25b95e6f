#pragma once

#include <string>

namespace megascope::cli {

/// Processors' time that a process's control groups grant it, the least of its own and those above it: 1.5; 0: no limit that can be
/// seen. groups: what /proc/<pid>/cgroup says; mounts: where control groups are mounted ("/sys/fs/cgroup"), of version 1, 2 or both.
double granted_processors(const std::string& groups, const std::string& mounts);

}  // namespace megascope::cli
