#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace megascope::detect {

/// Returns the ranks for a message, separated by commas: the first eight, then "…" if there are
/// more.
inline std::string rank_list(const std::vector<std::int32_t>& ranks) {
  constexpr std::size_t kMaxListed = 8;  // more would hide the rest of the message
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < kMaxListed; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return ranks.size() > kMaxListed ? text + ", …" : text;
}

}  // namespace megascope::detect
