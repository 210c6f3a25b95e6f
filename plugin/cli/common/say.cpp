#include "plugin/cli/common/say.h"

#include "core/base/text.h"
#include "core/base/text_table.h"

#include <algorithm>
#include <cstdio>

namespace megascope::cli {

std::string printable(const std::string& text) { return megascope::printable(text, text.size()); }

void say(const std::string& sentence) {
  std::fprintf(stderr, "megascope: %s\n", printable(sentence).c_str());
}

std::string missing_ranks_text(const std::vector<std::int32_t>& ranks, std::int32_t world_size) {
  constexpr std::size_t kMaxNamed = 32;
  std::vector<std::string> missing;
  for (std::int32_t rank = 0; rank < world_size && missing.size() <= kMaxNamed; ++rank) {
    if (!std::ranges::binary_search(ranks, rank)) missing.push_back(std::to_string(rank));
  }
  if (missing.empty()) return {};
  const std::string count = std::to_string(static_cast<std::size_t>(world_size) - ranks.size()) +
                            " of " + std::to_string(world_size);
  if (missing.size() > kMaxNamed) missing.back() = "...";
  return count + " ranks miss: " + joined(missing, " ");
}

}  // namespace megascope::cli
