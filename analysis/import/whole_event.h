#pragma once

#include "analysis/import/json_events.h"
#include "analysis/import/timeline.h"

#include <cstdint>
#include <optional>
#include <string>

namespace megascope::importer {

/// Times of an `X` event in ns, as the file counts them, and what has to be mended of it.
struct WholeEvent {
  struct Repair {
    RepairKind kind = RepairKind::kMissingDuration;
    Estimate::Of of = Estimate::Of::kEnd;
  };
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::optional<Repair> repair;
};
/// max_us: times and durations beyond are refused. An error says what is wrong with the event.
Status read_whole(const JsonEvent& event, double max_us, WholeEvent& whole);

/// Appends the operation. Times before 0 wrap around in it, until all are counted from the first.
/// where: the event, for messages.
void keep(Timeline& timeline, Operation operation, const WholeEvent& whole,
          const std::string& where);

}  // namespace megascope::importer
