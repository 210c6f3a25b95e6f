#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <optional>
#include <string>

namespace megascope::importer {

/// Times of an `X` event in ns on the file's clock, and the repair that the event needs, if any.
struct WholeEvent {
  struct Repair {
    RepairKind kind = RepairKind::kMissingDuration;
    Estimate::Of of = Estimate::Of::kEnd;
  };
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<Repair> repair;
};
/// Reads an `X` event. max_us: largest accepted time and duration. Errors state what is wrong with
/// the event.
Status read_whole(const JsonEvent& event, double max_us, WholeEvent& whole);

/// Appends the operation with the times of `whole` to the timeline, and its repair and estimate if
/// it needs one. Negative times wrap around until the reader makes times relative to the first.
/// where: the event, for messages.
void keep(Timeline& timeline, Operation operation, const WholeEvent& whole,
          const std::string& where);

}  // namespace megascope::importer
