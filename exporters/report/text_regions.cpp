#include "core/base/text.h"
#include "core/base/text_table.h"
#include "exporters/report/text_sections.h"

#include <algorithm>
#include <tuple>

namespace megascope::report {

Lines region_section(const RunReport& report, const RowLimits& limits) {
  if (report.regions.empty() || limits.regions == 0) return {};
  std::vector<const RegionRow*> rows;
  for (const RegionRow& row : report.regions) rows.push_back(&row);
  std::ranges::sort(rows, [](const RegionRow* a, const RegionRow* b) {
    return std::tie(b->totals.time, b->totals.calls, a->name) <
           std::tie(a->totals.time, a->totals.calls, b->name);
  });
  const auto duration = [](std::uint64_t time_ns) {
    return human_duration(static_cast<std::int64_t>(time_ns));
  };
  Table table({{"region", Table::Align::kLeft, 40}, {"count"}, {"time"}, {"mean"}, {"longest"}});
  for (std::size_t i = 0; i < std::min(limits.regions, rows.size()); ++i) {
    const CallTotals& totals = rows[i]->totals;
    table.add({rows[i]->name, human_count(totals.calls), duration(totals.time),
               duration(totals.time / std::max<std::uint64_t>(totals.calls, 1)),
               duration(totals.max_time)});
  }
  Lines lines = {rows.size() > limits.regions ? "User regions, all ranks together, the longest " +
                                                    std::to_string(limits.regions)
                                              : "User regions, all ranks together"};
  const Lines of_table = table.lines(2);
  lines.insert(lines.end(), of_table.begin(), of_table.end());
  return lines;
}

}  // namespace megascope::report
