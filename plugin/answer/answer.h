#pragma once

#include "analysis/detect/step_finder.h"
#include "analysis/detect/told_steps.h"
#include "analysis/whatif/what_if.h"
#include "core/record/run_time.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"

#include <cstdint>
#include <vector>

namespace megascope::answer {

/// Everything that the analysis says of a run: matches, waits and their causes, message order, culprits.
class Answer {
 public:
  /// run: outlives the object; read about four times. time: of all clock domains of the run. jobs: threads to work with, the
  /// caller's among them. Throws what the source throws, and std::bad_alloc. Memory: some 50 bytes a call.
  Answer(const RecordSource& run, const RunTime& time, unsigned jobs);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  const AnswerView& view() const { return view_; }
  /// The run in possible times: those of all that is told here.
  const RecordSource& in_order() const { return corrected_; }
  /// All stops of all tracks, with their waits.
  const analysis::WaitStates& states() const { return states_; }
  /// How much faster the run would have been, had things taken their usual time; `asked` are the culprits. Reads the run twice.
  whatif::WhatIf replay() const;
  /// The steps that a rank was judged by: those of the program, else found ones.
  detect::StepTimes step_times(std::int32_t world_rank) const;

 private:
  void judge_calls(detect::Options options);
  void judge_operations(detect::Options options);
  void acquit();
  void detect_culprits(detect::Options options);
  void pass_over_trifles();
  void place_culprits();
  void number_steps(const std::vector<std::int64_t>& numbers);

  const RecordSource& run_;
  unsigned jobs_;
  analysis::MatchTables tables_;
  analysis::WaitStates states_;
  analysis::Matching matching_;
  analysis::Causality causality_;
  analysis::CorrectedSource corrected_;
  analysis::WaitAnalysis waits_;
  std::vector<double> clock_errors_ns_;
  detect::ToldSteps told_;
  detect::Detection detection_;
  AnswerView view_;
};

/// Ranks whose traces are of another run than the first one's. Ranks that wrote alone each made up a name.
std::vector<std::int32_t> strangers(const RecordSource& run);

}  // namespace megascope::answer
