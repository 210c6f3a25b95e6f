#pragma once

#include "analysis/advice/gather.h"
#include "analysis/common/parallel_groups.h"
#include "analysis/detect/annotated_steps.h"
#include "analysis/whatif/program_graph.h"
#include "analysis/whatif/what_if.h"
#include "core/record/run_time.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"
#include "plugin/answer/group_check.h"
#include "plugin/answer/judged_regions.h"
#include "plugin/answer/synced_run.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace megascope::answer {

/// The combined analysis of a run: matching, message order, wait states, root causes.
class Answer {
 public:
  struct Options {
    unsigned jobs = 1;        ///< threads, including the caller's
    bool has_replay = false;  ///< replay() will be called. Root causes are replayed in any case
    bool has_advice = false;  ///< also recognise known problems of MPI programs (docs/advice.md)
  };
  /// run: outlives the object; read twice, and up to six times more where clocks contradict the
  /// order of messages. time: of all clock domains of the run. Throws what the source throws, and
  /// std::bad_alloc. Memory: some 50 bytes a call.
  Answer(const RecordSource& run, const RunTime& time, const Options& options);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  const AnswerView& view() const { return view_; }
  /// The run with times in which no message arrives before it is sent. All results use these times.
  const RecordSource& in_order() const { return shown_->source(); }
  /// All stops of all tracks, with their waits.
  const analysis::WaitStates& states() const { return states_; }
  /// How much faster the run would have been, had things taken their usual time; `asked` are the
  /// root causes.
  whatif::WhatIf replay();

 private:
  void note_clock_errors();
  void read(const RecordSource& source);
  template <class Sink>
  analysis::Matching match(const RecordSource& source, Sink& sink);
  void judge_calls(const RecordSource& source);
  void judge_operations();
  void add_blocked_in_mpi(whatif::WhatIf& what_if) const;
  double caused_fraction(std::int32_t world_rank) const;
  void confirm();
  whatif::WhatIf play(std::size_t max_scenarios);
  void drop_inferred_groups();
  void drop_negligible();
  void drop_advice_on_stages();
  void add_grid_coordinates();
  void drop_wrong_groups();
  void number_steps(const std::vector<std::int64_t>& numbers);

  const RecordSource& recorded_;
  Options options_;
  SyncedRun synced_;
  const RecordSource& run_;  ///< recorded_ with its hidden waits
  analysis::MatchTables tables_;
  analysis::WaitStates states_;
  analysis::Matching matching_;
  analysis::Causality causality_;
  std::optional<analysis::InOrder> shown_;      ///< recorded_ in possible times
  std::optional<analysis::InOrder> corrected_;  ///< run_ in possible times
  analysis::WaitAnalysis waits_;
  std::vector<double> clock_errors_ns_;
  analysis::ParallelGroups groups_;
  GroupCheck check_;
  detect::AnnotatedSteps reported_;
  detect::StepMarks found_;  ///< only where there are hidden waits
  detect::Options judge_;
  detect::Detection detection_;
  std::optional<whatif::ProgramGraph> program_;  ///< where it will be replayed
  std::optional<JudgedRegions> regions_;         ///< of a run of regions
  bool is_whole_replayed_ = true;  ///< of a program: all steps, as far as it was planned
  std::optional<whatif::OperationGraph> graph_;    ///< once it was replayed
  std::optional<whatif::PreparedGraph> prepared_;  ///< of graph_
  std::optional<advice::Gather> gather_;           ///< where advice is asked for
  AnswerView view_;
};

/// Of a cause whose cost is more than the replay shows (whatif::Scenario::cost): gains that agree.
void raise_gain_to_cost(whatif::Scenario& scenario);
/// Returns the measured error bound of each rank's clock, in ns, by index in world_ranks(); < 0:
/// the clock was not compared with the others.
std::vector<double> measured_errors_ns(const RecordSource& run, const RunTime& time);
/// Ranks whose traces are of another run than the first one's. Standalone ranks each have a
/// synthetic run name.
std::vector<std::int32_t> ranks_of_other_runs(const RecordSource& run);

}  // namespace megascope::answer
