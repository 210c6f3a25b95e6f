#pragma once

#include "core/base/status.h"

#include <string>
#include <vector>

namespace megascope::cli {

/// Folder with libmegascope.so and its modules, found from where this program lies. An error names
/// the places tried.
Status find_library_folder(std::string& folder);
/// The library in that folder.
inline constexpr char kLibraryName[] = "libmegascope.so";
/// A page of the documentation, "slurm.md": its path where it is installed with this program, else
/// that in the sources.
std::string page_path(const std::string& name);
/// This program as the user can type it: its full path.
std::string own_path();

/// Formats that this version writes, in the option table's order; "none" is none.
std::vector<std::string> export_formats();

}  // namespace megascope::cli
