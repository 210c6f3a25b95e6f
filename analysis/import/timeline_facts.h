#pragma once

#include "analysis/import/operation_table.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <vector>

namespace megascope::importer {

/// Assigns numbers to operations so that those of different workers match. A send and its receive
/// get the same tag. The members of a collective get the same sequence number. Operations match if
/// channel, step and seq_id are equal; without seq_id, the position in the step is used. If an
/// operation is missing on one worker, matches in other steps are therefore not affected; with
/// seq_id, no other match is affected.
class MatchNumbers {
 public:
  /// timeline: sorted (mend()). rank_of_track: by track index.
  MatchNumbers(const Timeline& timeline, const std::vector<std::int32_t>& rank_of_track,
               const OperationTable& table);

  /// Returns the tag of the message that the operation sends, or the sequence number of a
  /// collective in its group.
  std::uint32_t sent(std::size_t operation) const { return sent_[operation]; }
  /// Returns the tag of the message that the operation receives.
  std::uint32_t received(std::size_t operation) const { return received_[operation]; }

 private:
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace megascope::importer
