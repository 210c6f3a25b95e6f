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
    kStepsDiffer,
    kBackwards,
    kWrongSize,
    kGroupsDiffer,
    kRanksAbsent,
    kPartsMissing,
    kNoSpace,
    kNoGroup,
    kSplitTwice,
    kStopped,
    kReasonCount
  };

  /// Counts one case. example: which tensor or step; the first one of each reason is kept. Throws
  /// std::bad_alloc.
  void note(Reason reason, const std::string& example);
  /// Sentences for the user. world_rank: of this process.
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
