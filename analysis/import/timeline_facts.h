#pragma once

#include "analysis/import/operation_table.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

/// Numbers that match operations of different workers: a send and its receive have the same tag,
/// the members of a collective the same sequence number. Operations match if channel, step and
/// seq_id (without seq_id: the position in the step) are equal. An operation that is missing on one
/// worker therefore does not shift the matches of other steps; with seq_id it does not shift any.
class MatchNumbers {
 public:
  /// timeline: sorted (mend()). rank_of_track: by track index.
  MatchNumbers(const Timeline& timeline, const std::vector<std::int32_t>& rank_of_track,
               const OperationTable& table);

  /// Tag of the message that the operation sends, or sequence number of the collective in its
  /// group.
  std::uint32_t sent(std::size_t operation) const { return sent_[operation]; }
  /// Tag of the message that the operation receives.
  std::uint32_t received(std::size_t operation) const { return received_[operation]; }

 private:
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace megascope::importer
