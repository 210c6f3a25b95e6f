#include "core/base/text.h"
#include "exporters/report/table.h"
#include "exporters/report/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace megascope::report {
namespace {

struct LossText {
  const char* name;
  const char* reason;
};

/// By LossCause: name and remedy.
constexpr LossText kLossTexts[kLossCauseCount] = {
    {"buffer full", "MEGASCOPE_BUFFER_SIZE was reached; increase it"},
    {"storage",
     "the disk is full (free space, or set MEGASCOPE_SCRATCH), or the trace was removed or "
     "recovered while the job was running"},
    {"no buffer", "no memory for the buffer of a thread"},
    {"unknown request", "completions of requests whose start was not recorded"},
    {"unknown size", "received sizes that MPI did not report"},
    {"foreign", "calls after the end of recording"},
    {"damaged", "records that could not be read"},
    {"unbalanced", "regions or steps that were not properly nested"},
    {"refused", "hooks whose arguments cannot be recorded; see megascope_last_error"},
};
static_assert(kLossTexts[kLossCauseCount - 1].name != nullptr, "a cause has no text");

const char* how_to_open(const std::string& format) {
  if (format == "otf2") return "Vampir, or otf2-print";
  if (format == "perfetto") return "https://ui.perfetto.dev";
  if (format == "chrome") return "https://ui.perfetto.dev or chrome://tracing";
  return "";
}

}  // namespace

Lines loss_section(const RunReport& report) {
  if (std::all_of(report.losses.begin(), report.losses.end(),
                  [](std::uint64_t count) { return count == 0; })) {
    std::vector<std::string> names;
    for (const LossText& text : kLossTexts) names.emplace_back(text.name);
    return labelled("Dropped records", "0 for every cause: " + joined(names, ", "));
  }
  Table table({{"cause", Table::Align::kLeft}, {"count"}, {"", Table::Align::kLeft}});
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    if (report.losses[i] != 0)
      table.add({kLossTexts[i].name, human_count(report.losses[i]), kLossTexts[i].reason});
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
  if (report.directory.empty()) return {};
  Lines lines = labelled("Run directory", report.directory);
  Table table({{"format", Table::Align::kLeft, 12},
               {"file", Table::Align::kLeft, 28},
               {"records"},
               {"size"},
               {"open with", Table::Align::kLeft, 44}});
  for (std::size_t i = 0; i < std::min(limits.exports, report.exports.size()); ++i) {
    const ExportRow& row = report.exports[i];
    table.add({row.format, row.path, human_count(row.records), human_bytes(row.bytes),
               how_to_open(row.format)});
  }
  if (table.row_count() != 0) {
    const Lines rows = table.lines(2);
    lines.insert(lines.end(), rows.begin(), rows.end());
  }
  if (!report.report_command.empty()) {
    const Lines again = labelled("This report", report.report_command);
    lines.insert(lines.end(), again.begin(), again.end());
  }
  return lines;
}

}  // namespace megascope::report
