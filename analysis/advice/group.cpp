#include "analysis/advice/group.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace megascope::advice {

std::vector<RowGroup> groups_of(const Facts& facts, Pattern pattern) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, RowGroup> by_call_site;
  for (const RankFacts& rank : facts.ranks) {
    for (const Row& row : rank.rows) {
      if (row.pattern != pattern) continue;
      RowGroup& group = by_call_site[{row.function, row.comm, row.site}];
      Row& sum = group.sum;
      if (group.ranks.empty()) {
        sum = row;
      } else {
        sum.count += row.count;
        sum.root_count = std::max(sum.root_count, row.root_count);
        sum.time_ns += row.time_ns;
        sum.bytes += row.bytes;
        sum.bytes_before += row.bytes_before;
      }
      group.max_count = std::max(group.max_count, row.count);
      if (group.ranks.empty() || group.ranks.back() != rank.world_rank)
        group.ranks.push_back(rank.world_rank);
    }
  }
  std::vector<RowGroup> groups;
  for (auto& [call_site, group] : by_call_site) groups.push_back(std::move(group));
  std::ranges::stable_sort(
      groups, [](const RowGroup& a, const RowGroup& b) { return a.sum.time_ns > b.sum.time_ns; });
  return groups;
}

}  // namespace megascope::advice
