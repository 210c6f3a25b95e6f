#pragma once

#include "plugin/live/history.h"
#include "plugin/tensors/letter.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace megascope::live {

/// What ranks of a program without steps say of stretches of time, as rows of all ranks. Rows are
/// numbered from 0. One thread.
class IntervalRows {
 public:
  /// Rows that are done with by that: all ranks have said something, or are not waited for any
  /// more.
  std::vector<StepEntry> add(std::int32_t world_rank, std::uint32_t ranks,
                             const tensors::Interval& interval);

 private:
  struct Row {
    StepEntry entry;
    std::uint32_t said = 0;
  };
  void put(std::int32_t world_rank, std::uint32_t ranks, std::int64_t index,
           const tensors::Interval& share);

  std::map<std::int64_t, Row> open_;  ///< by Interval::index
  std::optional<std::int64_t> first_index_;
  std::int64_t last_done_ = -1;
};

}  // namespace megascope::live
