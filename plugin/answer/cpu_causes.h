#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"

#include <string>
#include <vector>

namespace megascope::answer {

/// Which ranks share cores and what their CPU times are, for the view; root causes that were only
/// kept waiting for a core are renamed (cpu::name_preempted), and what the whole run shows is added
/// (cpu::judge_whole_run). Calls are read again only where readings leave something to explain:
/// root causes, no steps, ranks that stood still. Before the steps of root causes are renumbered.
void explain_by_cpu_times(const RecordSource& source, unsigned jobs, AnswerView& view,
                          detect::Detection& detection);

/// "4 ranks share 2 cores on node n1; they waited 12 % of their time for one.": a sentence each.
std::vector<std::string> shared_cores_sentences(const AnswerView& view);

/// Returns whether the report shows CPU times: a rank waited for a core for 1 % of its time, or
/// ranks share cores.
bool shows_cpu_times(const AnswerView& view);

}  // namespace megascope::answer
