#include "exporters/report/text_sections.h"

#include "core/base/text.h"
#include "core/base/text_table.h"
#include "exporters/report/cpu_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <numeric>

namespace megascope::report {
namespace {

constexpr std::size_t kLabelColumns = 16;
constexpr std::size_t kMaxEnds = 1024;

std::string plural(std::uint64_t count, const char* one, const char* several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string duration(std::uint64_t time_ns) {
  return human_duration(static_cast<std::int64_t>(time_ns));
}

std::string run_text(const RunReport& report, const TimeShares& shares) {
  std::string nodes = plural(report.nodes.size(), "node", "nodes");
  if (report.nodes.size() <= 3) nodes += " (" + printable(joined(report.nodes, ", "), 40) + ")";
  std::string text = fmt::format(
      "{} on {}, {}", plural(static_cast<std::uint64_t>(report.world_size), "rank", "ranks"), nodes,
      duration(shares.wall_ns));
  if (shares.startup_ns != 0)
    text += fmt::format(", {} of it in MPI_Init", duration(shares.startup_ns));
  return text;
}

/// Summary of the loss counters; "no records dropped" if all are 0.
std::string losses_text(const Losses& losses) {
  const auto count_of = [&losses](LossCause cause) {
    return losses[static_cast<std::size_t>(cause)];
  };
  const std::uint64_t all = std::accumulate(losses.begin(), losses.end(), std::uint64_t{0});
  if (all == 0) return "no records dropped";
  const std::uint64_t refused = count_of(LossCause::kRefused);
  const std::uint64_t unbalanced = count_of(LossCause::kUnbalanced);
  const std::uint64_t lost = all - refused -
                             unbalanced;  // the other two are errors in the use of hooks
  std::vector<std::string> parts;
  if (lost != 0) parts.push_back(human_count(lost) + " records dropped");
  if (refused != 0) parts.push_back(human_count(refused) + " hook calls refused");
  if (unbalanced != 0) parts.push_back(human_count(unbalanced) + " regions or steps unbalanced");
  return joined(parts, ", ") + " (see below)";
}

std::string recorded_text(const RunReport& report) {
  std::uint64_t trace_bytes = 0;
  for (const RankRow& rank : report.ranks) trace_bytes += rank.trace_bytes;
  std::uint64_t regions = 0;
  for (const RegionRow& row : report.regions) regions += row.totals.calls;
  std::string text = human_count(call_count(report)) + " MPI calls";
  if (regions != 0) text += ", " + human_count(regions) + " user regions";
  if (trace_bytes != 0) text += ", " + human_bytes(trace_bytes) + " of trace";
  return text + ", " + losses_text(report.losses);
}

std::string overhead_text(const RunReport& report, const TimeShares& shares) {
  std::uint64_t max_ns = 0;
  for (const RankRow& rank : report.ranks) max_ns = std::max(max_ns, rank.overhead_ns);
  std::string text = duration(max_ns) + " at most on one rank";
  if (shares.wall_ns != 0) {
    text += fmt::format(" ({} of the run)", percent_text(static_cast<double>(max_ns) /
                                                         static_cast<double>(shares.wall_ns)));
  }
  return text + ", excluding the recording of each call";
}

/// Empty if there was no step exchange.
std::string step_exchange_text(const StepExchangeRow& exchange) {
  if (exchange.steps == 0) return {};
  std::string text = fmt::format("statistics over all ranks at {}",
                                 plural(exchange.steps, "step", "steps"));
  if (exchange.skipped != 0) text += fmt::format(" ({} of them unusable)", exchange.skipped);
  text += fmt::format(": {} overhead a step on the slowest rank, {} of it waiting",
                      duration(exchange.own_ns / exchange.steps),
                      duration(exchange.wait_ns / exchange.steps));
  if (exchange.step_ns == 0) return text;
  return text +
         fmt::format(" ({} of the steps)", percent_text(static_cast<double>(exchange.own_ns) /
                                                        static_cast<double>(exchange.step_ns)));
}

/// How the ranks ended, if not all ended normally.
std::string end_text(const RunReport& report) {
  std::map<EndState, std::vector<std::int32_t>> by_state;
  for (const RankRow& rank : report.ranks) by_state[rank.end_state].push_back(rank.world_rank);
  if (by_state.size() == 1 && by_state.contains(EndState::kFinalized)) return {};
  static constexpr const char* kNames[] = {"never reached MPI_Finalize", "finished", "aborted",
                                           "ended early, recovered"};
  std::vector<std::string> parts;
  for (const auto& [state, ranks] : by_state) {
    parts.push_back(fmt::format("{} {} ({})", plural(ranks.size(), "rank", "ranks"),
                                kNames[static_cast<std::size_t>(state)], rank_list(ranks)));
  }
  return joined(parts, "; ");
}

void append(Lines& to, const Lines& lines) { to.insert(to.end(), lines.begin(), lines.end()); }

/// Empty if the job was not started under Slurm.
std::string job_text(const RunReport& report) {
  const auto fact = [&](const char* name) -> const std::string& {
    return launcher_fact(report.run.launcher, name);
  };
  if (fact("SLURM_JOB_ID").empty()) return {};
  std::string text = "Slurm job " + fact("SLURM_JOB_ID");
  if (!fact("SLURM_ARRAY_TASK_ID").empty())
    text += ", task " + fact("SLURM_ARRAY_TASK_ID") + " of array " + fact("SLURM_ARRAY_JOB_ID");
  if (!fact("SLURM_STEP_ID").empty()) text += ", step " + fact("SLURM_STEP_ID");
  if (!fact("SLURM_HET_SIZE").empty()) text += " of " + fact("SLURM_HET_SIZE") + " components";
  if (!fact("SLURM_CLUSTER_NAME").empty()) text += ", cluster " + fact("SLURM_CLUSTER_NAME");
  if (!fact("SLURM_JOB_NAME").empty()) text += ", named " + fact("SLURM_JOB_NAME");
  return text;
}

/// Empty if the program used only the C interface.
std::string interfaces_text(std::uint8_t interfaces) {
  if ((interfaces & (kInterfaceFortran | kInterfaceFortran08)) == 0) return "";
  std::vector<std::string> names;
  if ((interfaces & kInterfaceC) != 0) names.emplace_back("C");
  if ((interfaces & kInterfaceFortran) != 0) names.emplace_back("Fortran (mpif.h, use mpi)");
  if ((interfaces & kInterfaceFortran08) != 0) names.emplace_back("Fortran (use mpi_f08)");
  return ", called from " + joined(names, ", ");
}

/// Empty if all processes use one clock.
std::string clocks_text(const ClockFacts& clocks) {
  if (clocks.domains < 2) return {};
  const std::uint64_t compared = clocks.domains - clocks.unmeasured;
  std::string text = plural(clocks.domains, "clock", "clocks");
  if (compared > 1) {
    text += fmt::format(", synchronized by messages: error at most {}",
                        human_duration(static_cast<std::int64_t>(clocks.error_ns)));
  }
  if (clocks.unmeasured == 0) return text;
  return text + fmt::format(
                    "; {} of them could not be compared with rank 0's and are set by their "
                    "nodes' system clocks",
                    clocks.unmeasured);
}

}  // namespace

Lines labelled(const std::string& label, const std::string& text, std::size_t most) {
  Lines lines = wrapped(printable(text, most), kTextColumns - kLabelColumns);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string left = i == 0 ? label : std::string();
    lines[i] = left + std::string(kLabelColumns - std::min(kLabelColumns, left.size()), ' ') +
               lines[i];
  }
  return lines;
}

std::vector<std::int32_t> missing_ranks(const RunReport& report) {
  std::vector<std::int32_t> missing;
  auto next = report.ranks.begin();
  for (std::int32_t rank = 0; rank < report.world_size; ++rank) {
    while (next != report.ranks.end() && next->world_rank < rank) ++next;
    if (next == report.ranks.end() || next->world_rank != rank) missing.push_back(rank);
  }
  return missing;
}

std::string time_text(std::int64_t realtime_ns) {
  if (realtime_ns <= 0) return {};
  const std::time_t seconds = static_cast<std::time_t>(realtime_ns / 1'000'000'000);
  std::tm utc{};
  if (gmtime_r(&seconds, &utc) == nullptr) return {};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::uint64_t call_count(const RunReport& report) {
  std::uint64_t count = 0;
  for (const RankRow& rank : report.ranks) count += rank.calls;
  return count;
}

Lines facts_section(const RunReport& report, const TimeShares& shares) {
  std::string title = "MegaScope " + printable(report.run.version, 20);
  if (!report.run.run_id.empty()) title += ": run " + printable(report.run.run_id, 44);
  const std::string started = time_text(report.start_realtime_ns);
  if (!started.empty()) title += ", " + started;
  Lines lines = {title};
  std::string program = report.run.programs.empty() ? ""
                                                    : printable(report.run.programs.front(), 76);
  if (report.run.programs.size() > 1)
    program += fmt::format(" and {} more", report.run.programs.size() - 1);
  if (!program.empty()) append(lines, labelled("Program", program));
  append(lines, labelled("Run", run_text(report, shares)));
  if (const std::string job = job_text(report); !job.empty()) append(lines, labelled("Job", job));
  if (!report.run.mpi_library.empty())
    append(lines, labelled("MPI library", printable(report.run.mpi_library, 44) +
                                              interfaces_text(report.run.interfaces)));
  if (!report.run.parent_world.empty()) {
    append(lines, labelled("Spawned by", "MPI_Comm_spawn in " +
                                             (report.conclusion.started_by.empty()
                                                  ? "another run"
                                                  : "the run " + report.conclusion.started_by)));
  }
  if (const std::string clocks = clocks_text(report.conclusion.clocks); !clocks.empty())
    append(lines, labelled("Clocks", clocks));
  append(lines, labelled("Recorded", recorded_text(report)));
  if (!report.run.unrecorded.empty()) {
    append(lines,
           labelled("Not recorded", joined(report.run.unrecorded, ", ") +
                                        ": the MPI library has no pmpi_ entry point for them"));
  }
  append(lines, labelled("Overhead", overhead_text(report, shares)));
  if (const std::string exchange = step_exchange_text(report.conclusion.step_exchange);
      !exchange.empty())
    append(lines, labelled("Step exchange", exchange));
  const std::string end = end_text(report);
  if (!end.empty()) append(lines, labelled("End", end));
  append(lines,
         report.conclusion.open_ends.text.empty()
             ? Lines()
             : labelled(end.empty() ? "End" : "", report.conclusion.open_ends.text, kMaxEnds));
  const std::vector<std::int32_t> missing = missing_ranks(report);
  const bool is_alone = std::ranges::all_of(report.ranks, &RankRow::is_standalone);
  if (!missing.empty() && is_alone) {
    append(lines, labelled("Standalone",
                           fmt::format("{} of {} ranks; not all ranks have the library, so each "
                                       "rank with the library writes its "
                                       "own trace and report; `megascope join` combines them",
                                       report.ranks.size(), report.world_size)));
  } else if (!missing.empty()) {
    append(lines,
           labelled("Missing", fmt::format("{} of {} ranks have no trace ({})", missing.size(),
                                           report.world_size, rank_list(missing))));
  }
  return lines;
}

Lines share_section(const RunReport& report, const TimeShares& shares) {
  if (shares.by_share.empty()) return {};
  const RankRow& least = *shares.by_share.front();
  const RankRow& most = *shares.by_share.back();
  std::string text = percent_text(shares.run) + " of the run";
  if (report.ranks.size() > 1) {
    text += fmt::format(": least {} (rank {}), median {}, most {} (rank {})",
                        percent_text(mpi_share(least)), least.world_rank,
                        percent_text(shares.median), percent_text(mpi_share(most)),
                        most.world_rank);
  }
  Lines lines = labelled("Time in MPI", text);
  if (report.ranks.size() > 1 && shares.imbalance >= 0.01 && !is_too_short(shares)) {
    append(lines, labelled("Imbalance",
                           fmt::format(
                               "rank {} has the longest time outside MPI, the average rank {} less",
                               shares.busiest_rank, percent_text(shares.imbalance))));
  }
  for (const std::string& shared : shared_cores_texts(report))
    append(lines, labelled("Cores", shared));
  const std::string verdict = report.conclusion.verdict.empty()
                                  ? first_verdict(report, shares)
                                  // Otherwise the complete verdict is at the end of the report.
                                  : std::string();
  if (!verdict.empty()) append(lines, labelled("", verdict));
  return lines;
}

Lines collective_section(const RunReport& report) {
  const std::vector<const CommRow*> rows = comms_that_differ(report);
  if (rows.empty()) return {};
  std::string text = "ranks called different collectives on `" + printable(rows.front()->name, 60) +
                     "`";
  if (rows.size() > 1)
    text += fmt::format(" and {}",
                        plural(rows.size() - 1, "other communicator", "other communicators"));
  text += report.conclusion.directory.empty() ? "."
                                              : "; the first difference: megascope hang " +
                                                    shell_quoted(report.conclusion.directory);
  return labelled("Collectives", text);
}

Lines verdict_section(const RunReport& report) {
  constexpr std::size_t
      kMaxVerdict = 4096;  // our own text: not truncated, however many causes it names
  if (!report.conclusion.verdict.empty())
    return labelled("Verdict", report.conclusion.verdict, kMaxVerdict);
  if (report.conclusion.verdict_command.empty()) return {};
  return labelled("Verdict", report.conclusion.verdict_command +
                                 " shows which ranks delay the others, and why");
}

Lines note_section(const RunReport& report, const RowLimits& limits) {
  Lines lines;
  for (std::size_t i = 0; i < std::min(limits.notes, report.notes.size()); ++i) {
    append(lines, labelled(i == 0 ? "Note" : "", printable(report.notes[i], 160)));
  }
  if (report.notes.size() > limits.notes) {
    append(lines, labelled("", fmt::format("and {} more in report.json",
                                           report.notes.size() - limits.notes)));
  }
  return lines;
}

}  // namespace megascope::report
