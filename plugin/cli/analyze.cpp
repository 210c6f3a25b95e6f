#include "analysis/align/causality.h"
#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"
#include "core/trace/run_folder.h"
#include "plugin/cli/analyze_view.h"
#include "plugin/cli/collective_words.h"
#include "plugin/cli/commands.h"
#include "plugin/cli/fork_collective.h"
#include "plugin/cli/run_share.h"

#include <algorithm>
#include <cstdio>
#include <memory>

/// `megascope analyze`: the answer that a run holds.
namespace megascope::cli {
namespace {

constexpr double kNoIdeaNs = 1e15;

/// Ranks whose traces are of another run than the first one's. Ranks that wrote alone each made up a name.
std::vector<std::int32_t> strangers(const RecordSource& run) {
  const std::string* id = nullptr;
  std::vector<std::int32_t> found;
  for (const std::int32_t rank : run.world_ranks()) {
    const ProcessInfo& info = run.process(rank).info;
    if (info.is_solo || info.run_id.empty()) continue;
    if (id == nullptr) id = &info.run_id;
    if (info.run_id != *id) found.push_back(rank);
  }
  return found;
}

/// How far each rank's clock may be off, by what was measured; empty when some clock was not compared with the others.
std::vector<double> clock_errors(const trace::RunSource& run) {
  std::vector<double> errors_ns;
  for (const std::int32_t rank : run.world_ranks()) {
    const DomainTime& time = run.time().of(run.process(rank).info);
    if (!time.is_measured) return {};
    errors_ns.push_back(time.error_ns);
  }
  std::ranges::sort(errors_ns);
  return errors_ns;
}

}  // namespace

int analyze_run(const AnalyzeArguments& arguments) {
  std::unique_ptr<trace::RunSource> run;
  const Status status = open_run(arguments.folder, run);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const std::vector<std::int32_t> others = strangers(*run);
  if (!others.empty()) {
    say("traces of different runs lie in " + arguments.folder + ": " + ranks_text(others) + " and rank " +
        std::to_string(run->world_ranks().front()) + " were not in one job");
    return kUnusable;
  }
  const auto jobs = static_cast<unsigned>(arguments.jobs > 0 ? arguments.jobs : usable_processor_count());
  const analysis::MatchTables tables(*run);
  analysis::WaitStates states(tables);
  analysis::Matching matching = analysis::match_run(*run, tables, states, jobs);
  const analysis::Causality causality = analysis::restore_causality(*run, tables, matching, jobs);
  const analysis::CorrectedSource corrected(*run, causality.corrections);
  if (causality.violations_before != 0) matching = analysis::match_run(corrected, tables, states, jobs);  // in possible times
  const analysis::WaitAnalysis waits = analysis::analyze_waits(states, matching, tables, jobs);
  const std::vector<double> errors_ns = clock_errors(*run);
  detect::Options options;
  // Where clocks were never compared, nothing can be said of the time between two ranks.
  options.clock_error_ns = errors_ns.empty() ? kNoIdeaNs : std::max(options.clock_error_ns, 2 * errors_ns.back());
  const detect::Detection detection = detect::detect(corrected, options);
  const AnalyzeView view{*run, tables, matching, waits, causality, detection, errors_ns};
  const std::string text = arguments.as_json ? analyze_json(view) : analyze_text(view);
  std::fputs(text.c_str(), stdout);
  return has_finding(view) ? kFinding : kSuccess;
}

}  // namespace megascope::cli
