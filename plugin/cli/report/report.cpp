#include "plugin/cli/report/report.h"

#include "analysis/hang/hang.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/base/text_table.h"
#include "core/base/version.h"
#include "core/lifecycle/locate_call_sites.h"
#include "exporters/report/nothing_recorded.h"
#include "exporters/report/summary.h"
#include "plugin/answer/collective_words.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/fork_collective.h"
#include "plugin/cli/common/installation.h"
#include "plugin/cli/common/progress.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/run_directory/run_ends.h"
#include "plugin/cli/run_directory/run_share.h"
#include "plugin/cli/run_directory/worlds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sys/stat.h>
#include <system_error>
#include <utility>

/// `megascope report`: computes the report from the native traces, on all cores.
namespace megascope::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::size_t kMaxStoredBytes = 256U << 20;

Status summarize_together(const trace::RunSource& run, std::size_t members,
                          report::RunReport& report) {
  Progress progress("report");
  const Status status = ForkGroup::run(static_cast<int>(members), [&](Collective& collective) {
    const RunShare share = share_of(run, static_cast<std::size_t>(collective.rank()), members);
    std::vector<std::uint64_t> trace_bytes;
    for (const std::int32_t rank : share.world_ranks())
      trace_bytes.push_back(run.file(rank).used_bytes());
    report::RunReport mine = report::summarize_run(share, kVersion, trace_bytes,
                                                   progress.reporter(collective.rank() == 0));
    const Status merged = report::merge_up(collective, mine);
    if (!merged.is_ok()) say(merged.message());
    if (collective.rank() == 0) report = std::move(mine);
    return merged.is_ok() ? 0 : 1;
  });
  progress.clear();
  return status;
}

/// The report written at the end of the run; null if there is none or it cannot be read.
json stored_report(const std::string& directory) {
  std::string text;
  if (!files::read_small(directory + "/" + trace::kReportJsonFile, kMaxStoredBytes, text).is_ok())
    return {};
  json stored = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return stored.is_object() ? stored : json();
}

/// The exports in the stored report that still exist.
std::vector<report::ExportRow> stored_exports(const json& stored, const std::string& directory) {
  std::error_code error;
  std::vector<report::ExportRow> rows;
  if (!stored.contains("exports") || !stored["exports"].is_array()) return rows;
  for (const json& entry : stored["exports"]) {
    if (!entry.is_object()) continue;
    const json format = entry.value("format", json());
    const json file_path = entry.value("path", json());
    const json records = entry.value("records", json());
    const json bytes = entry.value("bytes", json());
    if (!format.is_string() || !file_path.is_string() || !records.is_number_unsigned() ||
        !bytes.is_number_unsigned())
      continue;
    if (!fs::exists(directory + "/" + file_path.get<std::string>(), error)) continue;
    rows.push_back({format.get<std::string>(), file_path.get<std::string>(),
                    records.get<std::uint64_t>(), bytes.get<std::uint64_t>()});
  }
  return rows;
}

/// The verdict in the stored report.
std::string stored_verdict(const json& stored) {
  constexpr std::size_t kMaxBytes = 4096;
  if (!stored.contains("is_analyzed") || stored["is_analyzed"] != true ||
      !stored.contains("verdict"))
    return {};
  const json& verdict = stored["verdict"];
  return verdict.is_string() ? megascope::printable(verdict.get<std::string>(), kMaxBytes)
                             : std::string();
}

/// Adds where ranks without an end stopped, and mismatched collectives. Searches for mismatches
/// only if call counts differ, or cannot be compared because ranks stopped at different points.
void add_hang_facts(const trace::RunSource& run, int jobs, report::RunReport& report) {
  constexpr std::size_t kMaxNamed = 4;
  const bool is_cut_short = has_open_ends(run);
  const bool may_differ = report.ranks.size() > 1 &&
                          (is_cut_short || !report::comms_that_differ(report).empty());
  if (!is_cut_short && !may_differ) return;
  const analysis::CommTable comms(run);
  const auto members = static_cast<unsigned>(member_count(jobs, run.world_ranks().size()));
  const analysis::HangReport found = analysis::analyze_hang(run, comms, existence_of, members);
  report.conclusion.open_ends = open_ends_of(found, comms);
  for (std::size_t i = 0; i < std::min(kMaxNamed, found.mismatches.size()); ++i) {
    report.notes.insert(
        report.notes.begin() + static_cast<std::ptrdiff_t>(i),
        "mismatched collectives: " + answer::mismatch_text(comms, found.mismatches[i]));
  }
}

void locate_call_sites_of(report::RunReport& report) {
  std::vector<CallSiteDefinition*> sites;
  for (report::CallSiteRow& row : report.call_sites) sites.push_back(&row.site);
  std::string directory;
  if (sites.empty() || !find_library_directory(directory).is_ok()) return;
  locate_call_sites(directory, sites, report.start_realtime_ns, report.notes);
}

/// Identifies directories by device and inode.
using VisitedRuns = std::set<std::pair<dev_t, ino_t>>;

/// Marks a directory as visited. False: already visited, or it does not exist. Prevents cycles of
/// runs that name each other as parent.
bool visit(const std::string& directory, VisitedRuns& visited) {
  struct stat info {};
  return stat(directory.c_str(), &info) == 0 && visited.emplace(info.st_dev, info.st_ino).second;
}

/// Makes the report of one run and of the runs that it spawned.
Status make_report(const ReportArguments& arguments, const std::string& directory,
                   VisitedRuns& visited, report::RunReport& report) {
  visit(directory, visited);
  std::unique_ptr<trace::RunSource> run;
  Status status = open_run(directory, run);
  if (!status.is_ok()) return status;
  status = summarize_together(*run, member_count(arguments.jobs, run->world_ranks().size()),
                              report);
  if (!status.is_ok()) return status;
  locate_call_sites_of(report);
  report.conclusion.directory = directory;
  report.conclusion.clocks = report::clock_facts(run->time());
  const json stored = stored_report(directory);
  report.conclusion.exports = stored_exports(stored, directory);
  report.conclusion.verdict = stored_verdict(stored);
  report.conclusion.verdict_command = "megascope analyze " + shell_quoted(directory);
  std::error_code error;
  if (!report.covers_all_calls && fs::exists(directory + "/" + trace::kReportTextFile, error)) {
    report.notes.push_back(
        std::string(trace::kReportTextFile) +
        " in the run directory, written at the end of the run, includes all calls");
  }
  add_hang_facts(*run, arguments.jobs, report);
  report.conclusion.started_by = run_that_started(*run, directory);
  for (const std::string& spawned : runs_started_by(*run, directory)) {
    if (!visit(spawned, visited)) continue;
    Status of_spawned = make_report(arguments, spawned, visited, report.spawned.emplace_back());
    if (of_spawned.is_ok()) continue;
    say(of_spawned.message());
    report.spawned.pop_back();
  }
  return Status::ok();
}

std::string all_texts(const report::RunReport& report) {
  std::string text = report::to_text(report);
  for (const report::RunReport& spawned : report.spawned) {
    text += "\nSpawned by " + megascope::printable(report.conclusion.directory, 60) +
            " with MPI_Comm_spawn: " + megascope::printable(spawned.conclusion.directory, 60) +
            "\n\n" + all_texts(spawned);
  }
  return text;
}

}  // namespace

int print_report(const ReportArguments& arguments) {
  report::RunReport report;
  VisitedRuns visited;
  const Status status = make_report(arguments, arguments.directory, visited, report);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const std::string text = arguments.as_json ? report::to_json(report) : all_texts(report);
  std::fputs(text.c_str(), stdout);
  return kSuccess;
}

}  // namespace megascope::cli
