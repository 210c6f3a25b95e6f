#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"
#include "core/record/source.h"
#include "exporters/megascan/open_steps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace megascope::megascan {

/// One step. It lasts from the earliest begin to the latest end of the step on any rank.
struct Iteration {
  std::int32_t step = kNoStep;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// The steps of a run as MegaScan's iterations, in order of begin. Without annotated steps the
/// whole run is one iteration. Iterations are the same on all ranks and begin on all ranks at the
/// same time, as MegaScan assumes; times within an iteration use the common clock.
class Iterations {
 public:
  /// Determines the iterations of a run. All members must call it. Makes one pass over all calls of
  /// the ranks that this member exports (`source`).
  static Status of(const RecordSource& source, Collective& members, Iterations& iterations);

  const std::vector<Iteration>& all() const { return all_; }
  /// Returns the index in all() of the iteration of a step; all().size() if there is none.
  std::size_t index_of(std::int32_t step) const;
  /// Returns the time between the end of the previous iteration and the begin of this one; 0 if
  /// they overlap. For the first iteration, the time since the start of the run.
  std::uint64_t pause_ns(std::size_t index) const;
  /// Returns sentences for the user that state where the iterations deviate from the annotated
  /// steps.
  std::vector<std::string> notes() const;

 private:
  std::vector<Iteration> all_;
  std::map<std::int32_t, std::size_t> index_of_;
};

}  // namespace megascope::megascan
