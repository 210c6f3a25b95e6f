#pragma once

#include "analysis/detect/annotated_steps.h"
#include "analysis/detect/detect.h"
#include "analysis/pieces/waits_source.h"
#include "core/record/source.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::answer {

/// Inserts hidden waits, that is waits of ranks for each other between MPI calls, into the run of
/// an MPI program (pieces::WaitsSource). Other runs, and runs without such waits, stay as they are.
class SyncedRun {
 public:
  /// run: outlives the object. specified: its parallel groups, may be empty. Reads annotated steps,
  /// and a beginning of each rank's calls; all of them where these show hidden waits.
  SyncedRun(const RecordSource& run, const detect::GroupIndices& specified, unsigned jobs);

  const RecordSource& source() const { return waits_ != nullptr ? *waits_ : run_; }
  bool has_waits() const { return waits_ != nullptr; }
  /// In the times of the run.
  const detect::AnnotatedSteps& annotated() const { return reported_; }
  /// Collectives of source() that the program did not call.
  std::uint64_t meeting_count() const { return has_waits() ? waits_->meeting_count() : 0; }
  /// Sentences: which ranks synchronise where.
  std::vector<std::string> notes() const;
  /// All members of a group that are alike slow are one culprit: which of them is slow is hidden by
  /// what they synchronise in.
  void join(std::vector<detect::RootCause>& root_causes) const;

 private:
  const RecordSource& run_;
  detect::AnnotatedSteps reported_;
  std::unique_ptr<pieces::WaitsSource> waits_;
  bool is_too_long_ = false;
};

/// Finds the steps of a run before its hidden waits are inserted.
detect::StepMarks marks_of_found_steps(const RecordSource& run, unsigned jobs);

}  // namespace megascope::answer
