#include "plugin/cli/analyze/analyze.h"

#include "core/trace/run_files.h"
#include "plugin/answer/answer.h"
#include "plugin/answer/collective_words.h"
#include "plugin/cli/analyze/output.h"
#include "plugin/cli/common/exit_codes.h"
#include "plugin/cli/common/fork_collective.h"
#include "plugin/cli/common/say.h"
#include "plugin/cli/run_directory/run_ends.h"
#include "plugin/cli/run_directory/run_share.h"

#include <cstdio>
#include <memory>

/// `megascope analyze`: analyzes a run and prints the result.
namespace megascope::cli {

int analyze_run(const AnalyzeArguments& arguments) {
  std::unique_ptr<trace::RunSource> run;
  const Status status = open_run(arguments.directory, run);
  if (!status.is_ok()) {
    say(status.message());
    return kUnusable;
  }
  const std::vector<std::int32_t> others = answer::ranks_of_other_runs(*run);
  if (!others.empty()) {
    say("traces of different runs are in " + arguments.directory + ": " +
        answer::ranks_text(others) + " and rank " + std::to_string(run->world_ranks().front()) +
        " belong to different jobs");
    return kUnusable;
  }
  const auto jobs = static_cast<unsigned>(arguments.jobs > 0 ? arguments.jobs
                                                             : usable_processor_count());
  answer::Answer found(*run, run->time(), {.jobs = jobs, .has_replay = true, .has_advice = true});
  const AnalyzeView& view = found.view();
  const whatif::WhatIf what_if = found.replay();
  const report::OpenEndFacts ends = open_ends_of(*run, jobs);
  const ImportFacts import = read_import_facts(arguments.directory);
  const std::string text = arguments.as_json ? analyze_json(view, what_if, ends, import)
                                             : analyze_text(view, what_if, ends, import);
  std::fputs(text.c_str(), stdout);
  return answer::has_finding(view) ? kFinding : kSuccess;
}

}  // namespace megascope::cli
