#pragma once

#include <string>
#include <vector>

namespace megascope::importer {

/// What wrote these files or directories, as `--from` names it: "chrome", "megascan" or "pytorch".
/// Looks at names, and at the first bytes of a file. "chrome" where nothing tells.
std::string format_of(const std::vector<std::string>& sources);

}  // namespace megascope::importer
