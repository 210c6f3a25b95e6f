#pragma once

#include <string>
#include <string_view>

namespace megascope::timeline {

/// Returns `text` with each byte that is not part of well-formed UTF-8 (RFC 3629: no surrogates, no
/// overlong forms) replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// Returns `text` as the content of a JSON string: valid UTF-8 with quotes, backslashes and control
/// characters escaped.
std::string json_escaped(std::string_view text);

}  // namespace megascope::timeline
