#include "core/base/text.h"
#include "core/base/text_table.h"
#include "core/config/export_formats.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::report {
Lines loss_section(const RunReport& report) {
  if (std::all_of(report.losses.begin(), report.losses.end(),
                  [](std::uint64_t count) { return count == 0; })) {
    std::vector<std::string> names;
    for (const LossText& text : kLossTexts) names.emplace_back(text.label);
    return labelled("Dropped records", "0 for every cause: " + joined(names, ", "));
  }
  Table table({{"cause", Table::Align::kLeft}, {"count"}, {"", Table::Align::kLeft}});
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    if (report.losses[i] != 0)
      table.add({std::string(kLossTexts[i].label), human_count(report.losses[i]),
                 std::string(kLossTexts[i].reason)});
  }
  if (table.row_count() < kLossCauseCount) table.add({"all other causes", "0"});
  Lines lines = table.lines(2);
  lines.insert(lines.begin(),
               report.covers_all_calls
                   ? "Dropped records by cause; the figures above include all calls"
                   : "Dropped records by cause; the figures above do not include them");
  return lines;
}

Lines output_section(const RunReport& report, const RowLimits& limits) {
  if (report.conclusion.directory.empty()) return {};
  Lines lines = labelled("Run directory", report.conclusion.directory);
  Table table({{"format", Table::Align::kLeft, 12},
               {"file", Table::Align::kLeft, 28},
               {"records"},
               {"size"},
               {"open with", Table::Align::kLeft, 44}});
  for (std::size_t i = 0; i < std::min(limits.exports, report.conclusion.exports.size()); ++i) {
    const ExportRow& row = report.conclusion.exports[i];
    table.add({row.format, row.path, human_count(row.records), human_bytes(row.bytes),
               std::string(config::export_format(row.format).opened_with)});
  }
  if (table.row_count() != 0) {
    const Lines rows = table.lines(2);
    lines.insert(lines.end(), rows.begin(), rows.end());
  }
  if (!report.conclusion.report_command.empty()) {
    const Lines again = labelled("This report", report.conclusion.report_command);
    lines.insert(lines.end(), again.begin(), again.end());
  }
  return lines;
}

}  // namespace megascope::report
