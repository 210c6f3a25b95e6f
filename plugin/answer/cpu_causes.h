#pragma once

#include "analysis/detect/detect.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"

#include <string>
#include <vector>

namespace megascope::answer {

/// Explains root causes by the CPU times that the kernel reported. Call it after detect(), before
/// step indices in `detection` are converted to the application's numbers. jobs: threads, including
/// the caller's. The function always sets view.shared_cores and view.cpu. If CPU times were
/// reported, and there are root causes, no ranks were judged, or a rank was blocked or without a
/// core for 2 % of its time, it reads the calls of `source` again and does the following:
/// - Renames root causes of ranks that only waited for a core (cpu::name_preempted).
/// - Removes root causes that the scheduling of shared cores may have produced
/// (cpu::dismiss_scheduling_noise).
/// - Removes root causes of ranks that only slept a little longer (cpu::dismiss_sleepers).
/// - Adds root causes that the CPU times of the whole run show (cpu::judge_whole_run).
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
