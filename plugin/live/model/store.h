#pragma once

#include "plugin/live/model/call_table.h"
#include "plugin/live/model/capture_registry.h"
#include "plugin/live/model/catalog.h"
#include "plugin/live/model/counter_log.h"
#include "plugin/live/model/history.h"
#include "plugin/live/views/latest_view_cache.h"

#include <cstdint>

namespace megascope::live {

/// Data by step, kept for all panels.
struct History {
  Log<StepEntry> steps;
  CounterLog counters;
  Log<StatisticsEntry> statistics;
};

/// The data that panels show, owned by the hub.
struct Store {
  TensorCatalog tensors;
  CounterCatalog counters;
  History history;
  LatestViewCache cache;
  CaptureRegistry capture_requests;
  CallTable calls;
  std::uint32_t ranks = 1;     ///< number of ranks with times
  bool has_intervals = false;  ///< the application annotates no steps; "steps" are time intervals
};

}  // namespace megascope::live
