#pragma once

#include <string>

namespace megascope::trace {

/// Folder for buffers on this node: `wanted` (may be empty), else the first of `temporary` (TMPDIR,
/// may be empty), /tmp and /var/tmp that is a local disk and can be written to, else /dev/shm, else
/// /tmp. Absolute.
std::string choose_scratch(const std::string& wanted, const std::string& temporary);

/// Can this process make files in the folder?
bool is_writable_folder(const std::string& folder);

/// `path` behind the working folder, unless it is absolute; without `.` and `..`.
std::string absolute_path(const std::string& path);

}  // namespace megascope::trace
