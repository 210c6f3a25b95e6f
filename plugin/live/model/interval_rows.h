#pragma once

#include "plugin/capture/rank_update.h"
#include "plugin/live/model/history.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace megascope::live {

/// Collects the intervals that ranks report (applications without annotated steps) into rows with
/// one column a rank. Rows are numbered from 0. One thread.
class IntervalRows {
 public:
  /// Adds one rank's interval. Returns the rows that this call completes. A row is complete when
  /// every rank has reported, or when too many later rows have been started.
  std::vector<StepEntry> add(std::int32_t world_rank, std::uint32_t ranks,
                             const capture::Interval& interval);

 private:
  /// A row that is being filled.
  struct Row {
    StepEntry entry;
    std::uint32_t said = 0;  ///< ranks that have reported
  };
  void put(std::int32_t world_rank, std::uint32_t ranks, std::int64_t index,
           const capture::Interval& share);

  std::map<std::int64_t, Row> open_;  ///< by Interval::index
  std::optional<std::int64_t> first_index_;
  std::int64_t last_done_ = -1;
};

}  // namespace megascope::live
