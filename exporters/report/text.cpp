#include "core/base/text.h"

#include "core/base/text_table.h"
#include "exporters/report/nothing_recorded.h"
#include "exporters/report/run_report.h"
#include "exporters/report/text_sections.h"

#include <algorithm>

namespace megascope::report {
namespace {

constexpr std::size_t kMaxLines = 60;
constexpr std::size_t kMaxLinesWithCallSites = 80;

Lines all_sections(const RunReport& report, const TimeShares& shares, const RowLimits& limits) {
  Lines all;
  const auto append = [&all](const Lines& section, bool is_apart) {
    if (section.empty()) return;
    if (is_apart && !all.empty()) all.emplace_back();
    all.insert(all.end(), section.begin(), section.end());
  };
  append(facts_section(report, shares), false);
  append(share_section(report, shares), true);
  append(collective_section(report), true);
  append(rank_section(report, shares, limits), true);
  append(function_section(report, limits), true);
  append(region_section(report, limits), true);
  append(comm_section(report, limits), true);
  append(file_section(report, limits), true);
  append(call_site_section(report, limits), true);
  append(size_section(report), true);
  append(pair_section(report, limits), true);
  append(wait_section(report, limits), true);
  append(pending_section(report, limits), true);
  append(loss_section(report), true);
  append(note_section(report, limits), false);
  append(output_section(report, limits), true);
  append(verdict_section(report), true);
  return all;
}

/// Removes a row from the part that has the most to spare. False: all parts have their minimum
/// size.
bool shorten(RowLimits& limits) {
  struct Part {
    std::size_t* rows;
    std::size_t least;
  };
  const Part parts[] = {{&limits.functions, 2}, {&limits.regions, 1}, {&limits.comms, 0},
                        {&limits.waits, 0},     {&limits.files, 0},   {&limits.call_sites, 8},
                        {&limits.pairs, 0},     {&limits.pending, 1}, {&limits.notes, 1},
                        {&limits.exports, 1},   {&limits.ranks, 2}};
  const auto spare = [](const Part& part) { return *part.rows - std::min(*part.rows, part.least); };
  const Part& longest = *std::max_element(
      std::begin(parts), std::end(parts),
      [&](const Part& a, const Part& b) { return spare(a) < spare(b); });
  if (spare(longest) == 0) return false;
  --*longest.rows;
  return true;
}

/// The text for a run whose traces have no calls.
std::string no_call_text(const RunReport& report) {
  const bool is_one = report.ranks.size() == 1;
  return std::string("MegaScope: ") +
         (is_one ? "the trace of this run has" : "the traces of this run have") +
         " no call. Recording ended early or the trace is\ndamaged, or the program ended during "
         "MPI_Init.\n";
}

}  // namespace

std::string to_text(const RunReport& report) {
  if (call_count(report) == 0 && report.pending_count == 0 && report.regions.empty()) {
    return report.ranks.empty() ? nothing_recorded_text({}) : no_call_text(report);
  }
  const TimeShares shares = time_shares(report);
  RowLimits limits;
  limits.ranks = std::min<std::size_t>(limits.ranks, report.ranks.size());
  limits.functions = std::min(limits.functions, report.functions.size());
  limits.regions = std::min(limits.regions, report.regions.size());
  limits.comms = std::min(limits.comms, report.comms.size());
  limits.files = std::min(limits.files, report.files.size());
  limits.pairs = std::min(limits.pairs, report.pairs.size());
  limits.waits = std::min(limits.waits, report.waits.size());
  limits.pending = std::min(limits.pending, report.pending.size());
  limits.notes = std::min(limits.notes, report.notes.size());
  limits.exports = std::min(limits.exports, report.conclusion.exports.size());
  Lines lines = all_sections(report, shares, limits);
  const std::size_t most = report.call_sites.empty() ? kMaxLines : kMaxLinesWithCallSites;
  while (lines.size() > most && shorten(limits)) lines = all_sections(report, shares, limits);
  std::string text;
  for (const std::string& line : lines) text += printable(line, kTextColumns) + '\n';
  return text;
}

}  // namespace megascope::report
