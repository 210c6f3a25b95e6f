#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"

#include <string>
#include <vector>

namespace megascope::answer {

/// Explains root causes by the CPU times that the kernel reported. Call it after detect(), before
/// step indices in `detection` are converted to the application's numbers. Reads the calls of
/// `source` again only if something is left to explain: there are root causes, no ranks were
/// judged, or a rank was blocked or without a core for 2 % of its time. jobs: threads, including
/// the caller's. It does the following:
/// - Sets view.shared_cores and view.cpu.
/// - Renames root causes that only waited for a core (cpu::name_preempted), removes those that the
///   scheduling of shared cores may have produced (cpu::dismiss_scheduling_noise) and those of
///   ranks that only slept a little longer (cpu::dismiss_sleepers), and adds what CPU times of the
///   whole run show (cpu::judge_whole_run).
void explain_by_cpu_times(const RecordSource& source, unsigned jobs, AnswerView& view,
                          detect::Detection& detection);

/// Returns a sentence for each set of ranks that shares cores, at most four and one with the number
/// of the others: "4 ranks share 2 cores on node n1 (ranks 0-3); they waited 12 % of their time for
/// one."
std::vector<std::string> shared_cores_sentences(const AnswerView& view);

/// Returns whether the report shows CPU times: a rank waited for a core for 1 % of its time, or
/// ranks share cores.
bool shows_cpu_times(const AnswerView& view);

}  // namespace megascope::answer
