#pragma once

#include <string>
#include <string_view>

namespace megascope::timeline {

/// `text` with every byte that is not part of well-formed UTF-8 (RFC 3629: no surrogates, no
/// overlong forms) replaced by U+FFFD. Names come from the application and may hold anything.
std::string valid_utf8(std::string_view text);

/// `text` as the inside of a JSON string: valid UTF-8, with quotes, backslashes and control
/// characters escaped.
std::string json_escaped(std::string_view text);

}  // namespace megascope::timeline
