#pragma once

#include "plugin/capture/rank_update.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::capture {

/// Bounded queue of view parts that wait for the next rank update. When space is short, the queue
/// first keeps fewer steps of each view. When only one step of each view is left, it keeps views of
/// fewer tensors. Which parts are kept depends only on step and tensor, not on timing. Therefore
/// ranks that hold parts of one view keep the parts of the same steps and tensors, even if they
/// send their rank updates at different steps. The preferred tensors change with the step, so that
/// each tensor is sent in turn. Not thread-safe: one thread at a time.
class PartBox {
 public:
  /// space: maximum size in bytes of the parts in one rank update. The queue holds at most twice as
  /// much.
  explicit PartBox(std::size_t space) : space_(space) {}

  void add(ViewPart&& part);
  /// Removes all parts and returns those that fit in `space` bytes, in insertion order. The others
  /// are discarded and counted.
  std::vector<ViewPart> take(std::size_t space);
  /// Number of parts discarded so far.
  std::uint64_t left_out() const { return left_out_; }

 private:
  void prune(std::size_t space);

  std::size_t space_;
  std::size_t bytes_ = 0;
  std::vector<ViewPart> parts_;
  std::uint64_t left_out_ = 0;
};

}  // namespace megascope::capture
