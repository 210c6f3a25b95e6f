#include "core/base/text.h"

#include "exporters/report/nothing_recorded.h"
#include "exporters/report/run_report.h"
#include "exporters/report/table.h"
#include "exporters/report/text_sections.h"

#include <algorithm>

namespace megascope::report {
namespace {

constexpr std::size_t kMaxLines = 60;

Lines all_sections(const RunReport& report, const TimeShares& shares, const RowLimits& limits) {
  Lines all;
  const auto append = [&all](const Lines& section, bool is_apart) {
    if (section.empty()) return;
    if (is_apart && !all.empty()) all.emplace_back();
    all.insert(all.end(), section.begin(), section.end());
  };
  append(facts_section(report, shares), false);
  append(share_section(report, shares), true);
  append(rank_section(report, shares, limits), true);
  append(function_section(report, limits), true);
  append(comm_section(report, limits), true);
  append(size_section(report), true);
  append(pair_section(report, limits), true);
  append(wait_section(report, limits), true);
  append(pending_section(report, limits), true);
  append(loss_section(report), true);
  append(note_section(report, limits), false);
  append(output_section(report, limits), true);
  return all;
}

/// Takes a row from the part that has most; false when all are as short as they may be.
bool shorten(RowLimits& limits) {
  std::size_t* const all[] = {&limits.functions, &limits.comms, &limits.waits,   &limits.pairs,
                              &limits.pending,   &limits.notes, &limits.exports, &limits.ranks};
  std::size_t* const longest = *std::max_element(
      std::begin(all), std::end(all), [](const auto* a, const auto* b) { return *a < *b; });
  if (*longest <= 2) return false;
  --*longest;
  return true;
}

}  // namespace

std::string to_text(const RunReport& report) {
  if (call_count(report) == 0 && report.pending_count == 0) return nothing_recorded_text({});
  const TimeShares shares = time_shares(report);
  RowLimits limits;
  limits.ranks = std::min<std::size_t>(limits.ranks, report.ranks.size());
  limits.functions = std::min(limits.functions, report.functions.size());
  limits.comms = std::min(limits.comms, report.comms.size());
  limits.pairs = std::min(limits.pairs, report.pairs.size());
  limits.waits = std::min(limits.waits, report.waits.size());
  limits.pending = std::min(limits.pending, report.pending.size());
  limits.notes = std::min(limits.notes, report.notes.size());
  limits.exports = std::min(limits.exports, report.exports.size());
  Lines lines = all_sections(report, shares, limits);
  while (lines.size() > kMaxLines && shorten(limits)) lines = all_sections(report, shares, limits);
  std::string text;
  for (const std::string& line : lines) text += printable(line, kTextColumns) + '\n';
  return text;
}

}  // namespace megascope::report
