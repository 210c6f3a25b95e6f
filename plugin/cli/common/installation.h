#pragma once

#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// Finds the directory of libmegascope.so and its modules, relative to this program. Errors name
/// the directories that were tried.
Status find_library_directory(std::string& directory);
/// File name of the library.
inline constexpr char kLibraryName[] = "libmegascope.so";
/// Returns the path of a page of the documentation. name: e.g. "slurm.md". Returns the path of the
/// installed page, or the path in the source tree if the page is not installed.
std::string page_path(const std::string& name);
/// Full path of this program, for commands shown to the user.
std::string own_path();

/// The export formats of this version in the option table's order, without "none".
std::vector<std::string> export_formats();

}  // namespace megascope::cli
