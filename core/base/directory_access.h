#pragma once

#include "core/base/safe_file.h"

#include <dirent.h>
#include <string>
#include <sys/types.h>

/// System calls that safe_file.cpp and fresh_file.cpp share. Not for other files.
namespace megascope::files {

/// Returns the path of `name` in `base`, for messages.
std::string path_of(const Base& base, const std::string& name);

/// Calls openat(2) with O_CLOEXEC until it is not interrupted. Returns the descriptor; -1 and errno
/// on failure. The caller owns the descriptor.
int open_retried(const Base& base, const std::string& name, int flags, mode_t mode = 0);

/// Opens a directory for readdir(3), with a file position of its own. Returns null on failure. The
/// caller closes it with closedir(3).
DIR* open_entries(const Base& base, const std::string& name = ".");

}  // namespace megascope::files
