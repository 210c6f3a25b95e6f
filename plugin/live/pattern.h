#pragma once

#include <string_view>

namespace megascope::live {

/// Whether all of `text` is like `pattern`, in which `*` stands for any characters. Time: at most the product of their lengths.
constexpr bool is_like(std::string_view text, std::string_view pattern) noexcept {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_at = 0;
  while (at < text.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      star_at = at;
    } else if (in_pattern < pattern.size() && pattern[in_pattern] == text[at]) {
      ++in_pattern;
      ++at;
    } else if (star != std::string_view::npos) {
      in_pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (in_pattern < pattern.size() && pattern[in_pattern] == '*') ++in_pattern;
  return in_pattern == pattern.size();
}

}  // namespace megascope::live
