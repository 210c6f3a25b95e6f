#pragma once

#include "analysis/detect/annotated_steps.h"
#include "analysis/detect/detect.h"
#include "analysis/segments/waits_source.h"
#include "core/record/source.h"

#include <memory>
#include <string>
#include <vector>

namespace megascope::answer {

/// Presents the run of an MPI program with its hidden waits, that is, waits of ranks for each other
/// between MPI calls, as calls (segments::WaitsSource). Runs without such waits, runs of regions,
/// and runs in which a rank does not know MPI_COMM_WORLD stay unchanged.
class SyncedRun {
 public:
  /// run: outlives the object. specified: coordinates of the ranks in parallel groups, or empty.
  /// jobs: threads, including the caller's. Reads the annotated steps, and the first 40 steps of
  /// each rank; if these show hidden waits, all calls.
  SyncedRun(const RecordSource& run, const detect::GroupIndices& specified, unsigned jobs);

  /// The run with its hidden waits; `run` itself if there are none. Valid as long as the object.
  const RecordSource& source() const { return waits_ != nullptr ? *waits_ : run_; }
  bool has_waits() const { return waits_ != nullptr; }
  /// Returns the annotated steps, in the times of the run; empty for runs of regions.
  const detect::AnnotatedSteps& annotated() const { return reported_; }
  /// Returns how many collectives of source() were inserted.
  std::uint64_t instance_count() const { return has_waits() ? waits_->instance_count() : 0; }
  /// Returns sentences for users: which ranks synchronise in which work, or that the run is too
  /// long to find the waits.
  std::vector<std::string> notes() const;
  /// Joins root causes. If every member of a group that synchronises has a root cause of its own,
  /// with similar factors and common steps, one root cause of the whole group replaces them: the
  /// synchronisation hides which member is slow. Groups of all ranks are not joined.
  void join(std::vector<detect::RootCause>& root_causes) const;

 private:
  const RecordSource& run_;
  detect::AnnotatedSteps reported_;
  std::unique_ptr<segments::WaitsSource> waits_;
  bool is_too_long_ = false;
};

/// Returns the inferred steps of a run, by index in world_ranks(). For runs without annotated
/// steps: call it with the run before hidden waits are inserted, which would change the steps that
/// are found. jobs: threads.
detect::StepMarks marks_of_found_steps(const RecordSource& run, unsigned jobs);

}  // namespace megascope::answer
