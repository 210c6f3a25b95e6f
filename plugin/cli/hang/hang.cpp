#include "analysis/hang/hang.h"

#include "core/base/clock.h"
#include "core/trace/run_files.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/fork_collective.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/hang/hang.h"
#include "plugin/cli/hang/view.h"
#include "plugin/cli/run_directory/run_ends.h"
#include "plugin/cli/run_directory/worlds.h"

#include <algorithm>
#include <cstdio>
#include <memory>

/// `megascope hang`: which ranks wait for which, in a run that hangs, was killed, or is running.
namespace megascope::cli {
namespace {

std::uint64_t now_ns(const RecordSource& source, bool is_running) {
  const std::int64_t since_start = clock::realtime_ns() - source.start_realtime_ns();
  if (!is_running || since_start < 0) return source.end_ns();
  return std::max(static_cast<std::uint64_t>(since_start), source.end_ns());
}

}  // namespace

int show_hang(const HangArguments& arguments) {
  std::unique_ptr<trace::RunSource> run;
  std::vector<std::string> problems;
  const Status status = trace::RunSource::open_as_it_is(arguments.directory, run, problems);
  for (const std::string& problem : problems) say(problem);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const analysis::CommTable comms(*run);
  const int jobs = arguments.jobs > 0 ? arguments.jobs : usable_processor_count();
  const analysis::HangReport report = analysis::analyze_hang(*run, comms, existence_of,
                                                             static_cast<unsigned>(jobs));
  HangView view{*run, comms, report, now_ns(*run, report.is_running)};
  view.open_ends = open_ends_of(report, comms);
  view.other_worlds = runs_started_by(*run, arguments.directory);
  const std::string starter = run_that_started(*run, arguments.directory);
  if (!starter.empty()) view.other_worlds.push_back(starter);
  const std::string text = arguments.as_json ? hang_json(view) : hang_text(view);
  std::fputs(text.c_str(), stdout);
  return has_finding(view) ? kFinding : kSuccess;
}

}  // namespace megascope::cli
