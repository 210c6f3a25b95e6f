#pragma once

#include <string>

namespace megascope::trace {

/// Returns the directory for buffers on this node: `wanted` if not empty; else the first of
/// `temporary` (TMPDIR, may be empty), /tmp and /var/tmp that is a writable local disk; else
/// /dev/shm; else /tmp. Absolute.
std::string choose_scratch(const std::string& wanted, const std::string& temporary);

/// Returns whether this process can create files in the directory.
bool is_writable_directory(const std::string& directory_path);

/// Returns `path` relative to the working directory as an absolute path, without `.` and `..`.
std::string absolute_path(const std::string& path);

}  // namespace megascope::trace
