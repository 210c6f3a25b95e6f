#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace megascope::tensors {

/// Counts which statistics over all ranks are missing, and why. Any thread.
class MissingStatistics {
 public:
  enum Reason {
    kStepsDiffer,   ///< the ranks were in different steps when they exchanged statistics
    kBackwards,     ///< a rank began a step whose number is not greater than the previous one
    kWrongSize,     ///< the annotated group sizes do not multiply to the world size
    kGroupsDiffer,  ///< ranks annotated different groups, or two ranks the same coordinates
    kRanksAbsent,   ///< the ranks annotated different numbers of steps
    kPartsMissing,  ///< some ranks that hold a part of the tensor did not show it
    kNoSpace,       ///< the number of tensors exceeds a limit
    kNoGroup,       ///< the tensor is split along a group that was not annotated
    kSplitTwice,    ///< the tensor was shown with two different splits in one step
    kStopped,       ///< this rank stopped reporting statistics
    kReasonCount    ///< number of reasons
  };

  /// Counts one case. example: the tensor or step concerned; only the first example of each reason
  /// is kept. Throws std::bad_alloc.
  void note(Reason reason, const std::string& example);
  /// Returns one sentence for the user for each reason that occurred. world_rank: the rank of this
  /// process.
  std::vector<std::string> sentences(std::int32_t world_rank) const;

 private:
  struct Cases {
    std::uint64_t count = 0;
    std::string example;
  };
  mutable std::mutex mutex_;
  std::array<Cases, kReasonCount> cases_;
};

}  // namespace megascope::tensors
