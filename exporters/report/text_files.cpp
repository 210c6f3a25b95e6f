#include "core/base/text.h"
#include "core/base/text_table.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace megascope::report {
namespace {

constexpr std::size_t kNameColumns = 36;

std::string bytes_or_dot(std::uint64_t bytes) { return bytes == 0 ? "." : human_bytes(bytes); }

void add(Table& table, const std::string& name, const std::string& ranks,
         const FileTotals& totals) {
  table.add({name, ranks, human_count(totals.opens), human_count(totals.reads),
             human_count(totals.writes), bytes_or_dot(totals.bytes_read),
             bytes_or_dot(totals.bytes_written),
             human_duration(static_cast<std::int64_t>(totals.time))});
}

}  // namespace

Lines file_section(const RunReport& report, const RowLimits& limits) {
  if (report.files.empty() || limits.files == 0) return {};
  std::vector<const FileRow*> sorted;
  for (const FileRow& row : report.files) sorted.push_back(&row);
  std::ranges::sort(sorted, [](const FileRow* a, const FileRow* b) {
    return std::tie(b->totals.time, a->name) < std::tie(a->totals.time, b->name);
  });
  Table table({{"file", Table::Align::kLeft, kNameColumns},
               {"ranks"},
               {"opens"},
               {"reads"},
               {"writes"},
               {"read"},
               {"written"},
               {"time"}});
  const std::size_t shown = sorted.size() <= limits.files ? sorted.size() : limits.files - 1;
  for (std::size_t i = 0; i < shown; ++i) {
    add(table, printable_end(sorted[i]->name, kNameColumns),
        fmt::format("{}", sorted[i]->totals.ranks), sorted[i]->totals);
  }
  FileTotals rest;
  for (std::size_t i = shown; i < sorted.size(); ++i) rest.add(sorted[i]->totals);
  if (shown < sorted.size()) add(table, fmt::format("({} more)", sorted.size() - shown), ".", rest);
  Lines lines = {"Files by time, all ranks together"};
  for (const std::string& line : table.lines(2)) lines.push_back(line);
  return lines;
}

}  // namespace megascope::report
