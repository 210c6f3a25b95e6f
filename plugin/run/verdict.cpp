#include "plugin/run/verdict.h"

#include "core/base/text.h"
#include "plugin/run/helper_process.h"

#include <algorithm>

namespace megascope::run {
namespace {

// The analysis of this many calls takes 0.4 to 0.7 s with the shortest steps (docs/overhead.md).
constexpr std::uint64_t kMaxCalls = 1'000'000;
constexpr std::size_t kMaxRanks = 64;  // each rank has a file to open
constexpr std::uint64_t kMaxNs = 900'000'000;

/// Whether the run has the data for a verdict. Missing data is reported elsewhere in the report.
bool can_be_judged(const report::RunReport& report) {
  const auto is_whole = [](const report::RankRow& rank) {
    return rank.end_state == EndState::kFinalized && !rank.is_standalone;
  };
  return report.world_size > 1 &&
         report.ranks.size() == static_cast<std::size_t>(report.world_size) &&
         std::ranges::all_of(report.ranks, is_whole);
}

Status make_verdict(const std::string& library_directory, const std::string& run_directory,
                    std::string& text) {
  std::string said;
  bool is_late = false;
  const Status status = run_helper(
      {library_directory + "/megascope_verdict", run_directory, std::to_string(kMaxNs)}, kMaxNs,
      said, is_late);
  if (!status.is_ok() || is_late) return status;
  if (said.empty())
    return Status::error(library_directory + "/megascope_verdict could not be started or failed");
  if (said.front() != '+') return Status::error(said.substr(1));
  text = said.substr(1);
  return status;
}

std::string command_for(const std::string& run_directory) {
  return "megascope analyze " + shell_quoted(run_directory);
}

}  // namespace

void add_verdict_command(const std::string& run_directory, report::RunReport& report) {
  if (!run_directory.empty() && can_be_judged(report))
    report.conclusion.verdict_command = command_for(run_directory);
}

void add_verdict(const std::string& library_directory, const std::string& run_directory,
                 report::RunReport& report) {
  if (run_directory.empty() || !can_be_judged(report)) return;
  std::uint64_t call_count = 0;
  for (const report::RankRow& rank : report.ranks) call_count += rank.calls;
  const std::string command = command_for(run_directory);
  if (call_count > kMaxCalls || report.ranks.size() > kMaxRanks) {
    report.conclusion.verdict_command = command;
    return;
  }
  const Status status = make_verdict(library_directory, run_directory, report.conclusion.verdict);
  if (!status.is_ok())
    report.notes.push_back("no verdict: " + status.message());
  else if (report.conclusion.verdict.empty())
    report.conclusion.verdict_command = command;
}

}  // namespace megascope::run
