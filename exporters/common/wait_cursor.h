#pragma once

#include "core/record/annotation.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace megascope::timeline {

/// Returns the display name of a wait: its kind and the rank waited for, for example "late sender:
/// rank 3".
inline std::string wait_name(const Annotations& annotations, const WaitAnnotation& wait) {
  const std::string kind = wait.kind < annotations.wait_kinds.size()
                               ? annotations.wait_kinds[wait.kind]
                               : "wait";
  return kind + ": rank " + std::to_string(wait.waits_for);
}

/// Finds the waits of one process's calls, which must be passed in the order in which they are
/// entered.
class WaitCursor {
 public:
  WaitCursor() = default;
  /// waits: of one process, grouped by location and ascending within each. They must outlive this
  /// object.
  explicit WaitCursor(std::span<const WaitAnnotation> waits) {
    for (std::size_t first = 0; first < waits.size();) {
      std::size_t last = first;
      while (last < waits.size() && waits[last].location == waits[first].location) ++last;
      if (rest_.size() <= waits[first].location)
        rest_.resize(waits[first].location + std::size_t{1});
      rest_[waits[first].location] = waits.subspan(first, last - first);
      first = last;
    }
  }

  bool is_empty() const { return rest_.empty(); }

  /// Returns the wait of a call; nullptr if the call did not wait. Calls of one location must be
  /// passed in order of entry.
  const WaitAnnotation* of(LocationId location, std::uint64_t enter_ns, std::uint64_t leave_ns) {
    if (location >= rest_.size()) return nullptr;
    std::span<const WaitAnnotation>& rest = rest_[location];
    while (!rest.empty() && rest.front().begin_ns < enter_ns) rest = rest.subspan(1);
    if (rest.empty() || rest.front().begin_ns != enter_ns || rest.front().end_ns > leave_ns)
      return nullptr;
    const WaitAnnotation* const found = &rest.front();
    rest = rest.subspan(1);
    return found;
  }

 private:
  std::vector<std::span<const WaitAnnotation>> rest_;  ///< by location
};

}  // namespace megascope::timeline
