#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"

#include "core/trace/run_folder.h"
#include "plugin/cli/analyze_view.h"
#include "plugin/cli/commands.h"
#include "plugin/cli/fork_collective.h"
#include "plugin/cli/run_share.h"

#include <cstdio>
#include <memory>

/// `megascope analyze`: the answer that a run holds.
namespace megascope::cli {

int analyze_run(const AnalyzeArguments& arguments) {
  std::unique_ptr<trace::RunSource> run;
  const Status status = open_run(arguments.folder, run);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const auto jobs = static_cast<unsigned>(arguments.jobs > 0 ? arguments.jobs : usable_processor_count());
  const analysis::MatchTables tables(*run);
  analysis::WaitStates states(tables);
  const analysis::Matching matching = analysis::match_run(*run, tables, states, jobs);
  const analysis::WaitAnalysis waits = analysis::analyze_waits(states, matching, tables, jobs);
  const AnalyzeView view{*run, tables, matching, waits};
  const std::string text = arguments.as_json ? analyze_json(view) : analyze_text(view);
  std::fputs(text.c_str(), stdout);
  return has_finding(view) ? kFinding : kSuccess;
}

}  // namespace megascope::cli
