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

/// By LossCause: for people, and what to do about it.
constexpr LossText kLossTexts[kLossCauseCount] = {
    {"buffer full", "MEGASCOPE_BUFFER_SIZE was reached; make it larger"},
    {"storage",
     "the disk took no more (free space, or set MEGASCOPE_SCRATCH), or the trace was removed or "
     "recovered while the job ran"},
    {"no buffer", "a thread could not get memory for its buffer"},
    {"unknown request", "completions of requests whose start was not seen"},
    {"unknown size", "received sizes that MPI did not tell"},
    {"foreign", "calls made after recording had ended"},
    {"damaged", "records that could not be read"},
    {"unbalanced", "regions or steps that the program did not enter and leave in order"},
    {"refused", "hooks whose arguments cannot be recorded; see megascope_last_error"},
};

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
    return labelled("Losses", "0 of every cause: " + joined(names, ", "));
  }
  Table table({{"cause", Table::Align::kLeft}, {"lost"}, {"", Table::Align::kLeft}});
  for (std::size_t i = 0; i < kLossCauseCount; ++i) {
    if (report.losses[i] != 0)
      table.add({kLossTexts[i].name, human_count(report.losses[i]), kLossTexts[i].reason});
  }
  if (table.row_count() < kLossCauseCount) table.add({"all other causes", "0"});
  Lines lines = table.lines(2);
  lines.insert(lines.begin(), report.covers_all_calls
                                  ? "Losses in the trace; the figures above count all calls"
                                  : "Losses in the trace, which miss in the figures above as well");
  return lines;
}

Lines output_section(const RunReport& report, const RowLimits& limits) {
  if (report.folder.empty()) return {};
  Lines lines = labelled("Run folder", report.folder);
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
