#pragma once

#include <string>

namespace megascope::cli {

/// Prints the format version of one trace file, and how its records are stored. Returns an exit
/// code; a file that is not a trace is an error message.
int show_trace(const std::string& path, bool as_json);

}  // namespace megascope::cli
