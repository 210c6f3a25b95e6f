#pragma once

#include "analysis/detect/step_times.h"
#include "analysis/pieces/program_pieces.h"
#include "analysis/whatif/graph_builder.h"
#include "analysis/whatif/waits_between.h"

#include <cstddef>
#include <string>
#include <vector>

namespace megascope::whatif {

/// Which steps of a program are replayed.
struct StepPlan {
  std::vector<detect::StepTimes>
      steps;  ///< by index in world_ranks(); of each rank those that all have
  std::vector<std::int64_t> numbers;     ///< by step, the program's own; empty: they count from 0
  std::vector<bool> is_kept;             ///< by step; empty: none, and `limitations` says why
  std::vector<std::string> limitations;  ///< sentences
};
/// steps: of all ranks. All steps, or so many from all over the run as fit.
StepPlan plan_steps(std::vector<detect::StepTimes> steps, const GraphOptions& options);

/// Collects the graph of a program that calls MPI while its run is matched.
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

  /// After the pass, once.
  OperationGraph take();

 private:
  const RecordSource& source_;
  const analysis::MatchTables& tables_;
  StepPlan plan_;
  pieces::Names names_;
  std::vector<pieces::ProgramPieces> processes_;
  PieceIndex index_;
  WaitSink waits_;
};

}  // namespace megascope::whatif
