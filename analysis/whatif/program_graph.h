#pragma once

#include "analysis/detect/step_times.h"
#include "analysis/segments/program_segments.h"
#include "analysis/whatif/graph_builder.h"
#include "analysis/whatif/waits_between.h"

#include <cstddef>
#include <string>
#include <vector>

namespace megascope::whatif {

/// The steps of an MPI program that are replayed.
struct StepPlan {
  std::vector<detect::StepTimes>
      steps;  ///< by index in world_ranks(): the same number of steps for each rank
  std::vector<std::int64_t>
      numbers;  ///< by step: the application's number; empty: steps are numbered from 0
  std::vector<bool>
      is_kept;  ///< by step; empty: no step is replayed, and `limitations` states the reason
  std::vector<std::string> limitations;  ///< sentences
};
/// Selects the steps to replay. steps: by index in world_ranks(), one entry a rank. Uses
/// options.max_operations and options.annotated. Keeps all steps if they fit. Otherwise keeps up to
/// eight segments distributed over the run. Keeps none if a rank has no steps, if a rank has more
/// than twice as many inferred steps as another, or if one step has more than 4 * max_operations
/// operations.
StepPlan plan_steps(std::vector<detect::StepTimes> steps, const GraphOptions& options);

/// Collects the graph of an MPI program while its run is matched. Pass it to analysis::match_run()
/// once, then call take().
class ProgramGraph final : public analysis::MatchSink {
 public:
  /// source, tables: outlive the object.
  ProgramGraph(const RecordSource& source, const analysis::MatchTables& tables, StepPlan plan);
  ProgramGraph(const ProgramGraph&) = delete;
  ProgramGraph& operator=(const ProgramGraph&) = delete;

  void begin(std::size_t task_count) override { waits_.begin(task_count); }
  void add_call(analysis::Track track, const Call& call) override;
  void add_wait_point(analysis::Track, const analysis::WaitPoint&) override {}
  void add_message(std::size_t task, const analysis::MessageEnd& send,
                   const analysis::MessageEnd& receive) override {
    waits_.add_message(task, send, receive);
  }
  void add_collective(std::size_t task, const analysis::Collective& collective) override {
    waits_.add_collective(task, collective);
  }
  void end_window() override {}

  /// Returns the graph. Call once, after the matching pass. Takes the data out of the object.
  OperationGraph take();

 private:
  const RecordSource& source_;
  const analysis::MatchTables& tables_;
  StepPlan plan_;
  segments::Names names_;
  std::vector<segments::ProgramSegments> processes_;
  SegmentIndex index_;
  WaitSink waits_;
};

}  // namespace megascope::whatif
