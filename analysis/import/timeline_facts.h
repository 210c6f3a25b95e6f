#pragma once

#include "analysis/import/operation_table.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

/// Which operations of different workers belong together, as numbers: a send and its receive have
/// one tag, the members of a collective one sequence number. Operations of one channel, step and
/// place in the step belong together, also if a worker has more or fewer of other operations.
class MatchNumbers {
 public:
  /// timeline: sorted. rank_of_track: by track.
  MatchNumbers(const Timeline& timeline, const std::vector<std::int32_t>& rank_of_track,
               const OperationTable& table);

  /// Tag of what it sends, or the sequence number among the collectives of its group.
  std::uint32_t sent(std::size_t operation) const { return sent_[operation]; }
  /// Tag of what it receives.
  std::uint32_t received(std::size_t operation) const { return received_[operation]; }

 private:
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace megascope::importer
