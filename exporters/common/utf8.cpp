#include "exporters/common/utf8.h"

#include <cstddef>

namespace megascope::timeline {
namespace {

bool is_between(unsigned char byte, unsigned first, unsigned last) {
  return byte >= first && byte <= last;
}

/// Length in bytes of the first character of `text` (not empty); 0 if it is malformed. Unicode,
/// table 3-7.
std::size_t character_bytes(std::string_view text) {
  const auto at = [text](std::size_t index) {
    return index < text.size() ? static_cast<unsigned char>(text[index])
                               : static_cast<unsigned char>(0);
  };
  const unsigned char lead = at(0);
  const auto tail = [&at](std::size_t index) { return is_between(at(index), 0x80, 0xBF); };
  if (lead < 0x80) return 1;
  if (is_between(lead, 0xC2, 0xDF)) return tail(1) ? 2 : 0;
  if (is_between(lead, 0xE0, 0xEF)) {
    const bool second = is_between(at(1), lead == 0xE0 ? 0xA0 : 0x80, lead == 0xED ? 0x9F : 0xBF);
    return second && tail(2) ? 3 : 0;
  }
  if (is_between(lead, 0xF0, 0xF4)) {
    const bool second = is_between(at(1), lead == 0xF0 ? 0x90 : 0x80, lead == 0xF4 ? 0x8F : 0xBF);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kHexDigits = "0123456789abcdef";

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    result += bytes == 0 ? kReplacement : text.substr(0, bytes);
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return result;
}

std::string json_escaped(std::string_view text) {
  std::string result;
  for (const char letter : valid_utf8(text)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (byte < 0x20 || byte == 0x7F) {
      result += "\\u00";
      result += kHexDigits[byte >> 4];
      result += kHexDigits[byte & 0xF];
    } else {
      result += letter;
    }
  }
  return result;
}

}  // namespace megascope::timeline
