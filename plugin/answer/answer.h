#pragma once

#include "analysis/advice/gather.h"
#include "analysis/common/parallel_groups.h"
#include "analysis/detect/annotated_steps.h"
#include "analysis/whatif/program_graph.h"
#include "analysis/whatif/what_if.h"
#include "core/clocks/run_time.h"
#include "core/record/source.h"
#include "plugin/answer/answer_view.h"
#include "plugin/answer/group_check.h"
#include "plugin/answer/judged_regions.h"
#include "plugin/answer/synced_run.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace megascope::answer {

/// Runs all analyses of a run in the order in which they depend on each other: hidden waits, steps
/// and root causes, matching, correction of message order, wait states, advice, and a replay that
/// confirms the root causes. The constructor does all the work; the other functions return results.
/// Used by `megascope analyze`, by the verdict at the end of a run, and by exports. One thread may
/// use the object. It uses options.jobs threads.
class Answer {
 public:
  struct Options {
    unsigned jobs = 1;        ///< threads, including the caller's
    bool has_replay = false;  ///< the caller will call replay(). The root causes are replayed even
                              ///< if false
    bool has_advice = false;  ///< also recognise known problems of MPI programs (docs/advice.md)
  };
  /// run: outlives the object. It is read twice, and up to six times more if clocks contradict the
  /// order of messages. time: the clock corrections of all clock domains of the run. Throws what
  /// the source throws, and std::bad_alloc. Memory: about 50 bytes a call.
  Answer(const RecordSource& run, const RunTime& time, const Options& options);
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  /// The results. Its references point into this object.
  const AnswerView& view() const { return view_; }
  /// Returns the run as it was recorded, without inserted hidden waits, in corrected times: no
  /// message is received before it was sent, and no member leaves a collective before the members
  /// on which it depends have entered (analysis::Causality). Wait states and root causes have these
  /// times. Exception: root causes of a run without MPI calls have the times of the run itself,
  /// because each rank is measured with its own clock.
  const RecordSource& in_order() const { return shown_->source(); }
  /// Returns all wait points of all tracks, with their waits.
  const analysis::WaitStates& states() const { return states_; }
  /// Returns how much faster the run would have been with typical durations. WhatIf::asked are the
  /// root causes, in the order of view().detection. If Options::has_replay is not set, this may
  /// read the run twice more.
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
  const RecordSource& run_;  ///< recorded_ with its hidden waits inserted
  analysis::MatchTables tables_;
  analysis::WaitStates states_;
  analysis::Matching matching_;
  analysis::Causality causality_;
  std::optional<analysis::InOrder> shown_;      ///< recorded_ in corrected times
  std::optional<analysis::InOrder> corrected_;  ///< run_ in corrected times
  analysis::WaitAnalysis waits_;
  std::vector<double> clock_errors_ns_;
  analysis::ParallelGroups groups_;
  GroupCheck check_;
  detect::AnnotatedSteps reported_;
  detect::StepMarks found_;  ///< set only if there are hidden waits and no annotated steps
  detect::Options judge_;
  detect::Detection detection_;
  /// The graph that is being built; set if the run will be replayed.
  std::optional<whatif::ProgramGraph> program_;
  std::optional<JudgedRegions> regions_;           ///< set for a run of regions
  bool is_whole_replayed_ = true;                  ///< MPI programs: all steps can be replayed
  std::optional<whatif::OperationGraph> graph_;    ///< set by the first replay
  std::optional<whatif::PreparedGraph> prepared_;  ///< replays of graph_
  std::optional<advice::Gather> gather_;           ///< set if Options::has_advice
  AnswerView view_;
};

/// Raises the gains of a scenario to the gains that its cost implies. Used for root causes whose
/// ranks are blocked in MPI calls, because their cost (whatif::Scenario::cost) is larger than the
/// replay shows.
void raise_gain_to_cost(whatif::Scenario& scenario);
/// Returns the measured error bound of each rank's clock, in ns, by index in world_ranks(); < 0:
/// the clock was not compared with the others.
std::vector<double> measured_errors_ns(const RecordSource& run, const RunTime& time);
/// Returns the world ranks whose traces belong to another run than that of the first rank. Ignores
/// standalone ranks (each has a synthetic run name) and traces without a run name.
std::vector<std::int32_t> ranks_of_other_runs(const RecordSource& run);

}  // namespace megascope::answer
