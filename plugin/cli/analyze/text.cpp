#include "core/base/text.h"

#include "core/base/text_table.h"
#include "exporters/report/text_sections.h"
#include "plugin/answer/collective_words.h"
#include "plugin/answer/cpu_causes.h"
#include "plugin/cli/analyze/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace megascope::cli {
namespace {

using analysis::RankWaits;

constexpr std::size_t kMaxRanks = 8;
constexpr std::size_t kMaxFunctions = 6;
constexpr std::size_t kMaxComms = 6;
constexpr std::size_t kMaxOtherFindings = 12;
constexpr std::size_t kMaxImportNotes = 12;
constexpr std::size_t kHostColumns = 24;

std::string duration(double time_ns) { return human_duration(static_cast<std::int64_t>(time_ns)); }
std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}

std::string percent(double part, double whole) {
  return whole > 0 ? percent_text(part / whole) : "-";
}
std::string percent(std::uint64_t part, std::uint64_t whole) {
  return percent(static_cast<double>(part), static_cast<double>(whole));
}

void append(Lines& to, const std::string& text, std::size_t indent) {
  for (const std::string& line : wrapped(printable(text, 4000), kTextColumns - indent)) {
    to.push_back(std::string(indent, ' ') + line);
  }
}

void append(Lines& to, const std::string& title, const Table& table) {
  if (table.row_count() == 0) return;
  to.emplace_back();
  to.push_back(title);
  const Lines rows = table.lines(2);
  to.insert(to.end(), rows.begin(), rows.end());
}

/// The causes that have a sentence, except the first: the verdict contains it.
void add_other_root_causes(const AnalyzeView& view, Lines& lines) {
  for (std::size_t i = 1; i < view.detection.root_causes.size(); ++i) {
    if (!answer::has_sentence(view, i)) continue;
    lines.emplace_back();
    append(lines, answer::root_cause_text(view, view.detection.root_causes[i]), 0);
  }
}

/// What was found beyond that, with its share of the run.
void add_root_cause_table(const AnalyzeView& view, Lines& lines) {
  std::vector<const detect::RootCause*> rows;
  for (std::size_t i = 0; i < view.detection.root_causes.size(); ++i) {
    if (!answer::has_sentence(view, i)) rows.push_back(&view.detection.root_causes[i]);
  }
  for (const detect::RootCause& root_cause : view.minor) rows.push_back(&root_cause);
  if (rows.empty()) return;
  lines.emplace_back();
  lines.emplace_back("Other findings, and their share of the run");
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxOtherFindings); ++i) {
    append(lines,
           fmt::format("{:>7}  {}", percent_text(rows[i]->cost_fraction),
                       answer::root_cause_title(*rows[i])),
           2);
  }
  if (rows.size() > kMaxOtherFindings)
    append(lines, fmt::format("{} more are in --json", rows.size() - kMaxOtherFindings), 2);
}

/// CPU time and time waiting for a core, e.g. "12.5 s"; "?": unknown.
std::vector<std::string> cpu_cells(const AnalyzeView& view, std::int32_t world_rank) {
  const auto rank = std::ranges::find(view.cpu, world_rank, &cpu::RankCpu::world_rank);
  if (rank == view.cpu.end() || !rank->has_readings()) return {"?", "?"};
  const cpu::SplitSums& whole = rank->whole;
  return {duration(whole.outside.cpu_ns + whole.inside.cpu_ns),
          rank->has_wait ? duration(whole.outside.wait_ns + whole.inside.wait_ns) : "?"};
}

void rank_table(const AnalyzeView& view, Lines& lines) {
  std::vector<const RankWaits*> ranks;
  for (const RankWaits& rank : view.waits.ranks) ranks.push_back(&rank);
  std::ranges::stable_sort(
      ranks, [](const RankWaits* a, const RankWaits* b) { return a->caused_ns > b->caused_ns; });
  const std::size_t shown = std::min(ranks.size(), kMaxRanks);
  std::vector<Table::Column> columns = {{"rank", Table::Align::kLeft},
                                        {"node", Table::Align::kLeft, kHostColumns},
                                        {"suffered"},
                                        {"caused"},
                                        {"of all"},
                                        {"in MPI"},
                                        {"critical path"}};
  const bool is_with_cpu = answer::shows_cpu_times(view);
  if (is_with_cpu) columns.insert(columns.end(), {{"CPU"}, {"for a core"}});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < shown; ++i) {
    const RankWaits& rank = *ranks[i];
    std::vector<std::string> cells = {
        std::to_string(rank.world_rank),
        printable(view.host(rank.world_rank), kHostColumns),
        duration(rank.suffered_ns),
        duration(rank.caused_ns),
        percent(rank.caused_ns, static_cast<double>(view.waits.suffered_ns)),
        percent(rank.mpi_ns, rank.wall_ns),
        percent(rank.path_ns, view.waits.path.length_ns)};
    if (is_with_cpu) std::ranges::move(cpu_cells(view, rank.world_rank), std::back_inserter(cells));
    table.add(std::move(cells));
  }
  append(lines,
         shown < ranks.size()
             ? fmt::format("Wait states by rank: the {} ranks that delay others most", shown)
             : "Wait states by rank",
         table);
}

void kind_table(const AnalyzeView& view, Lines& lines) {
  Table table({{"kind", Table::Align::kLeft}, {"waits"}, {"time"}, {"of all time"}});
  for (std::size_t kind = 1; kind < analysis::kWaitKindCount; ++kind) {
    const analysis::WaitSum& sum = view.waits.by_kind[kind];
    if (sum.count == 0) continue;
    table.add({answer::kind_name(static_cast<analysis::WaitKind>(kind)), human_count(sum.count),
               duration(sum.wait_ns), percent(sum.wait_ns, view.waits.wall_ns)});
  }
  append(lines, "Wait states by kind", table);
}

template <class Key>
std::vector<std::pair<Key, analysis::WaitSum>> longest(const std::map<Key, analysis::WaitSum>& sums,
                                                       std::size_t count) {
  std::vector<std::pair<Key, analysis::WaitSum>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second.wait_ns > b.second.wait_ns; });
  if (sorted.size() > count) sorted.resize(count);
  return sorted;
}

void wait_tables(const AnalyzeView& view, Lines& lines) {
  Table functions({{"function", Table::Align::kLeft}, {"waits"}, {"time"}});
  for (const auto& [function, sum] : longest(view.waits.by_function, kMaxFunctions)) {
    functions.add({view.function(function), human_count(sum.count), duration(sum.wait_ns)});
  }
  append(lines, "Wait states by function", functions);
  Table comms({{"on", Table::Align::kLeft, 40}, {"waits"}, {"time"}});
  for (const auto& [comm, sum] : longest(view.waits.by_comm, kMaxComms)) {
    comms.add({answer::object_name(view.tables.comms, comm), human_count(sum.count),
               duration(sum.wait_ns)});
  }
  append(lines, "Wait states by communicator", comms);
}

void collective_table(const AnalyzeView& view, Lines& lines) {
  std::vector<
      std::pair<std::pair<analysis::CommTable::Index, std::uint32_t>, analysis::CollectiveCost>>
      costs(view.waits.collectives.begin(), view.waits.collectives.end());
  std::ranges::stable_sort(costs, [](const auto& a, const auto& b) {
    return a.second.wire_ns + a.second.skew_ns > b.second.wire_ns + b.second.skew_ns;
  });
  if (costs.size() > kMaxFunctions) costs.resize(kMaxFunctions);
  Table table({{"collective", Table::Align::kLeft},
               {"on", Table::Align::kLeft, 40},
               {"count"},
               {"wire"},
               {"skew"}});
  for (const auto& [key, cost] : costs) {
    table.add({view.function(key.second), answer::object_name(view.tables.comms, key.first),
               human_count(cost.count), duration(cost.wire_ns), duration(cost.skew_ns)});
  }
  append(
      lines,
      "Collectives: wire is the shortest time of a member, skew the additional time of the others",
      table);
}

void path_table(const AnalyzeView& view, Lines& lines) {
  const analysis::CriticalPath& path = view.waits.path;
  Table table({{"critical path in", Table::Align::kLeft}, {"time"}, {"share"}});
  std::vector<std::pair<std::uint32_t, std::uint64_t>> functions(path.by_function_ns.begin(),
                                                                 path.by_function_ns.end());
  std::ranges::stable_sort(functions,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  if (functions.size() > kMaxFunctions) functions.resize(kMaxFunctions);
  table.add({"computation and calls that never wait", duration(path.outside_ns),
             percent(path.outside_ns, path.length_ns)});
  for (const auto& [function, time_ns] : functions) {
    table.add({view.function(function), duration(time_ns), percent(time_ns, path.length_ns)});
  }
  append(lines,
         fmt::format("Critical path: {}, with {} changes of rank", duration(path.length_ns),
                     human_count(path.switch_count)),
         table);
}

void matching_lines(const AnalyzeView& view, Lines& lines) {
  lines.emplace_back();
  append(lines,
         fmt::format("Matched: {} messages, {} collectives of {} calls; {} unmatched",
                     human_count(view.matching.message_count),
                     human_count(view.matching.collective_count),
                     human_count(view.matching.call_count), human_count(view.matching.unmatched())),
         0);
  for (std::size_t i = 1; i < std::min<std::size_t>(view.matching.mismatches.size(), kMaxComms);
       ++i) {
    append(lines,
           "Mismatched collectives: " +
               answer::mismatch_text(view.tables.comms, view.matching.mismatches[i]) + ".",
           2);
  }
  for (const std::string& limit : answer::limits_of(view)) append(lines, "Note: " + limit, 2);
}

/// Wait states: which ranks, where and why.
void add_waits(const AnalyzeView& view, Lines& lines) {
  if (view.waits.suffered_ns != 0) rank_table(view, lines);
  kind_table(view, lines);
  wait_tables(view, lines);
  collective_table(view, lines);
  if (view.waits.path.length_ns != 0) path_table(view, lines);
}

}  // namespace

std::string analyze_text(const AnalyzeView& view, const whatif::WhatIf& what_if,
                         const report::OpenEndFacts& ends, const ImportFacts& import) {
  Lines lines;
  if (!ends.text.empty()) append(lines, ends.text, 0);
  if (!ends.text.empty()) lines.emplace_back();
  append(lines, answer::verdict_text(view), 0);
  add_other_root_causes(view, lines);
  for (const std::string& sentence : answer::shared_cores_sentences(view)) {
    lines.emplace_back();
    append(lines, "Cores: " + sentence, 0);
  }
  for (const std::string& line : advice_lines(view)) lines.push_back(line);
  if (view.detection.step_count != 0 && !view.are_steps_annotated) {
    lines.emplace_back();
    append(lines,
           "The application annotates no steps: " + std::to_string(view.detection.step_count) +
               " were inferred from repeating calls.",
           0);
  }
  for (const std::string& line : what_if_lines(what_if)) lines.push_back(line);
  add_root_cause_table(view, lines);
  if (!view.has_operations) add_waits(view, lines);
  matching_lines(view, lines);
  for (std::size_t i = 0; i < std::min(import.notes.size(), kMaxImportNotes); ++i)
    append(lines, "Note on the import: " + import.notes[i], 2);
  return joined(lines, "\n") + "\n";
}

}  // namespace megascope::cli
