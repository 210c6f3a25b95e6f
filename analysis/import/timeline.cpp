#include "analysis/import/timeline.h"

namespace megascope::importer {

std::uint32_t Timeline::name_index(std::string_view name) {
  const auto [at, is_new] = index_of_.try_emplace(std::string(name),
                                                  static_cast<std::uint32_t>(names.size()));
  if (is_new) names.emplace_back(name);
  return at->second;
}

}  // namespace megascope::importer
