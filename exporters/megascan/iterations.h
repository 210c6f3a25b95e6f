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

/// From the first begin to the last end on any rank.
struct Iteration {
  std::int32_t step = kNoStep;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// The steps of a run as MegaScan's iterations, in order of begin; where no call tells one, the
/// whole run is one iteration. They are the same on all ranks and begin on all of them at once, as
/// MegaScan takes them to do: times within stay on the common clock.
class Iterations {
 public:
  /// Collective; one pass over all calls of the member's ranks.
  static Status of(const RecordSource& source, Collective& members, Iterations& iterations);

  const std::vector<Iteration>& all() const { return all_; }
  /// Which of all() a call belongs to; all().size(): to none.
  std::size_t index_of(std::int32_t step) const;
  /// The pause before an iteration: behind the end of the one before, or the start of the run. 0
  /// where these overlap.
  std::uint64_t pause_ns(std::size_t index) const;
  std::vector<std::string> notes() const;

 private:
  std::vector<Iteration> all_;
  std::map<std::int32_t, std::size_t> index_of_;
};

}  // namespace megascope::megascan
