#include "core/base/text.h"

#include "core/base/text_table.h"
#include "exporters/report/text_sections.h"
#include "plugin/cli/hang/groups.h"
#include "plugin/cli/hang/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace megascope::cli {
namespace {

using analysis::AwaitedRank;
using analysis::CycleStep;
using analysis::RankEnd;
using analysis::ThreadState;
using analysis::Waiting;

constexpr std::size_t kMaxCycles = 4;
constexpr std::size_t kMaxSteps = 8;
constexpr std::size_t kMaxMismatches = 8;

std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}

void append(Lines& to, const std::string& text, std::size_t indent) {
  for (const std::string& line : wrapped(printable(text, 4000), kTextColumns - indent)) {
    to.push_back(std::string(indent, ' ') + line);
  }
}

std::string title(const HangView& view) {
  const ProcessInfo& info = view.report.processes.states.front().definitions->info;
  std::string text = "Run " + printable(info.run_id, 40);
  const std::string started = report::time_text(view.source.start_realtime_ns());
  if (!started.empty()) text += ", started " + started;
  text += fmt::format(", {} {}", view.source.world_size(),
                      view.source.world_size() == 1 ? "rank" : "ranks");
  if (view.report.is_running)
    return text + fmt::format("; running, {} after its start", duration(view.now_ns));
  const bool has_finished = std::ranges::all_of(
      view.report.rank_ends, [](RankEnd rank_end) { return rank_end == RankEnd::kFinalized; });
  if (has_finished)
    return text +
           fmt::format("; all reached MPI_Finalize, {} after the start", duration(view.now_ns));
  return text + fmt::format("; not running here; its records end {} after the start",
                            duration(view.now_ns));
}

void mismatch_section(const HangView& view, Lines& lines) {
  if (view.report.mismatches.empty()) return;
  lines.emplace_back("Mismatched collectives:");
  for (std::size_t i = 0; i < std::min(kMaxMismatches, view.report.mismatches.size()); ++i) {
    append(lines, mismatch_text(view.comms, view.report.mismatches[i]) + ".", 2);
  }
  if (view.report.mismatches.size() > kMaxMismatches) {
    append(lines,
           fmt::format("and on {} more communicators.",
                       view.report.mismatches.size() - kMaxMismatches),
           2);
  }
}

std::string step_text(const HangView& view, const CycleStep& step) {
  const Waiting& waiting = view.report.waiting[step.waiting];
  const analysis::Want& want = waiting.wants[step.want];
  std::string which = want_text(view, waiting, want);
  const bool is_group = want.kind == analysis::Want::Kind::kCollective ||
                        want.partner == kAnySource;
  if (is_group && which.find(fmt::format("rank {} ", step.next)) == std::string::npos) {
    which += fmt::format(", so for rank {}", step.next);
  }
  const ThreadState& thread = view.process(step.world_rank)->threads[waiting.location];
  const std::uint64_t since_ns = waiting.is_polling ? thread.poll_since_ns : thread.enter_ns;
  return fmt::format("rank {} {} {} for {}; {}", step.world_rank,
                     waiting.is_polling ? "polls with" : "waits in", call_text(view, waiting),
                     which, since_text(view, since_ns));
}

/// Whether the cycle's ranks wait for each other because of a reported mismatch.
bool is_annotated(const HangView& view, const std::vector<CycleStep>& cycle) {
  return std::ranges::all_of(cycle, [&](const CycleStep& step) {
    const analysis::Want& want = view.report.waiting[step.waiting].wants[step.want];
    return want.kind == analysis::Want::Kind::kCollective &&
           std::ranges::any_of(view.report.mismatches, [&](const analysis::Mismatch& mismatch) {
             return mismatch.comm == want.comm && mismatch.sequence == want.sequence &&
                    mismatch.what == analysis::Mismatch::What::kFunction;
           });
  });
}

/// Whether it may not be a deadlock: one of the ranks polls, or its send may have completed.
bool is_doubtful(const HangView& view, const std::vector<CycleStep>& cycle) {
  return std::ranges::any_of(cycle, [&](const CycleStep& step) {
    const Waiting& waiting = view.report.waiting[step.waiting];
    return waiting.is_polling || view.process(step.world_rank)->has_losses ||
           waiting.wants[step.want].may_have_left;
  });
}

void cycle_section(const HangView& view, Lines& lines) {
  std::vector<std::vector<CycleStep>> cycles = view.report.cycles;
  const std::size_t annotated = std::erase_if(
      cycles, [&](const auto& cycle) { return is_annotated(view, cycle); });
  if (annotated != 0) append(lines, "So the ranks wait for each other.", 2);
  for (std::size_t i = 0; i < std::min(kMaxCycles, cycles.size()); ++i) {
    const std::vector<CycleStep>& cycle = cycles[i];
    const std::string what = is_doubtful(view, cycle) ? "Perhaps a deadlock" : "Deadlock";
    append(lines,
           cycle.size() == 1
               ? what + ": a rank waits for itself."
               : fmt::format("{}: {} ranks wait for each other in a cycle.", what, cycle.size()),
           0);
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      if (cycle.size() > kMaxSteps && k == kMaxSteps / 2) {
        append(lines, fmt::format("… {} more …", cycle.size() - kMaxSteps), 2);
        k = cycle.size() - kMaxSteps / 2;
      }
      append(lines, step_text(view, cycle[k]), 2);
    }
  }
  if (cycles.size() > kMaxCycles)
    append(lines, fmt::format("{} more cycles like these.", cycles.size() - kMaxCycles), 0);
}

/// What a rank that others wait for does instead.
std::string root_cause_text(const HangView& view, const AwaitedRank& awaited) {
  const analysis::ProcessState* state = view.process(awaited.world_rank);
  if (state == nullptr) return "has no trace";
  // With several threads, shows the one that does not wait, because it could unblock the others.
  const std::vector<RankLine> lines = lines_of_rank(view, awaited.world_rank);
  const auto idle = std::ranges::find_if(lines,
                                         [](const RankLine& line) { return line.what.empty(); });
  if (lines.empty()) return "has no recorded call";
  if (idle == lines.end() || lines.size() == 1) return lines.front().where;
  return "its " + idle->who.substr(idle->who.find(", ") + 2) + " is " + idle->where;
}

void blame_section(const HangView& view, Lines& lines) {
  std::map<std::string, std::vector<const AwaitedRank*>> alike;  // by state
  std::vector<std::string> order;
  for (const AwaitedRank& awaited : view.report.awaited_ranks) {
    const std::string text = root_cause_text(view, awaited);
    if (!alike.contains(text)) order.push_back(text);
    alike[text].push_back(&awaited);
  }
  for (const std::string& text : order) {
    std::vector<std::int32_t> ranks;
    std::size_t most = 0;
    for (const AwaitedRank* awaited : alike[text]) {
      ranks.push_back(awaited->world_rank);
      most = std::max(most, awaited->waiting_count);
    }
    std::ranges::sort(ranks);
    std::string who = ranks_text(ranks);
    who.front() = who.front() == 'r' ? 'R' : who.front();
    append(lines,
           fmt::format("{}: {}. {} {} for {}.", who, text, most,
                       most == 1 ? "rank waits" : "ranks wait",
                       ranks.size() == 1 ? "it" : "them, directly or indirectly"),
           0);
  }
}

void rank_section(const HangView& view, Lines& lines) {
  lines.emplace_back("Where each rank is");
  const std::vector<RankLine> all = rank_lines(view);
  std::size_t width = 0;
  for (const RankLine& line : all)
    width = std::max(width, std::min<std::size_t>(line.who.size(), 24));
  for (const RankLine& line : all) {
    const std::size_t indent = width + 4;
    Lines body;
    for (const std::string& part : {line.where, line.what}) {
      if (!part.empty()) append(body, part, indent);
    }
    if (line.who.size() > width)
      append(lines, line.who, 2);
    else if (!body.empty())
      body.front().replace(2, line.who.size(), line.who);
    lines.insert(lines.end(), body.begin(), body.end());
  }
}

void note_section(const HangView& view, Lines& lines) {
  for (const std::string& directory : view.other_worlds) {
    append(lines,
           "A connected world has its own run; see megascope hang " + shell_quoted(directory), 0);
  }
  std::vector<std::int32_t> lossy;
  std::vector<std::int32_t> ahead;
  for (const analysis::ProcessState& state : view.report.processes.states) {
    if (state.may_be_ahead)
      ahead.push_back(state.world_rank);
    else if (state.has_losses)
      lossy.push_back(state.world_rank);
  }
  if (!ahead.empty()) {
    append(
        lines,
        "Note: not all calls of " + ranks_text(ahead) +
            " are recorded (a full buffer, or functions that are not selected). The states above "
            "are those at the last record; the ranks may have moved on.",
        0);
  }
  if (!lossy.empty()) {
    append(lines,
           "Note: the first calls of " + ranks_text(lossy) +
               " were overwritten; statements about messages may be wrong.",
           0);
  }
  std::vector<std::int32_t> missing;
  for (std::size_t rank = 0; rank < view.report.rank_ends.size(); ++rank) {
    if (view.report.rank_ends[rank] == RankEnd::kMissing)
      missing.push_back(static_cast<std::int32_t>(rank));
  }
  if (!missing.empty()) {
    append(
        lines,
        "Note: there is no trace of " + ranks_text(missing) +
            " here. For ranks on other nodes, run `megascope recover` there to move their traces "
            "to the run directory.",
        0);
  }
}

}  // namespace

std::string hang_text(const HangView& view) {
  Lines lines;
  append(lines, title(view), 0);
  if (!view.open_ends.text.empty()) append(lines, view.open_ends.text, 0);
  lines.emplace_back();
  const std::size_t before = lines.size();
  mismatch_section(view, lines);
  cycle_section(view, lines);
  if (view.report.cycles.empty()) append(lines, "No ranks wait for each other in a cycle.", 0);
  blame_section(view, lines);
  if (lines.size() != before) lines.emplace_back();
  rank_section(view, lines);
  Lines notes;
  note_section(view, notes);
  if (!notes.empty()) lines.emplace_back();
  lines.insert(lines.end(), notes.begin(), notes.end());
  return joined(lines, "\n") + "\n";
}

}  // namespace megascope::cli
