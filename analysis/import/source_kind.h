#pragma once

#include <string>
#include <vector>

namespace megascope::importer {

/// Detects the format of files or directories, as a value of `--from`: "chrome", "megascan" or
/// "pytorch". Uses the names of the files, and the first bytes of a file. Returns "chrome" if the
/// format is unclear.
std::string format_of(const std::vector<std::string>& sources);

}  // namespace megascope::importer
