#include "analysis/import/timeline.h"

#include <algorithm>
#include <tuple>

namespace megascope::importer {

std::uint32_t Timeline::name_index(std::string_view name) {
  const auto [at, is_new] = index_of_.try_emplace(std::string(name), static_cast<std::uint32_t>(names.size()));
  if (is_new) names.emplace_back(name);
  return at->second;
}

void sort_and_unite(Timeline& timeline) {
  std::vector<Operation>& all = timeline.operations;
  const auto key = [](const Operation& a) {
    return std::tuple(a.begin_ns, ~a.end_ns, a.track, a.name, a.step, a.sequence, a.micro_batch, a.model_chunk, a.bytes, a.told);
  };
  std::sort(all.begin(), all.end(), [&key](const Operation& a, const Operation& b) { return key(a) < key(b); });
  const auto end = std::unique(all.begin(), all.end());
  const auto count = static_cast<std::size_t>(all.end() - end);
  if (count != 0) timeline.notes.push_back(std::to_string(count) + " operations are in the file more than once and were taken once");
  all.erase(end, all.end());
}

}  // namespace megascope::importer
