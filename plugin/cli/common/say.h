#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::cli {

/// "2 of 8 ranks miss: 3 7"; empty if no rank is missing. ranks: the present ranks, ascending.
std::string missing_ranks_text(const std::vector<std::int32_t>& ranks, std::int32_t world_size);

/// `text` as one line that is safe for terminals and logs: control characters (ESC, C1, newlines),
/// bidirectional formatting characters and invalid UTF-8 become '?'. For file names and other
/// untrusted text.
std::string printable(const std::string& text);

/// Writes "megascope: <sentence>" to standard error, made printable().
void say(const std::string& sentence);

}  // namespace megascope::cli
