#pragma once

#include "analysis/whatif/operation_graph.h"

#include <vector>

/// The typical duration of operations, and their duration without slowness. Pure functions; times
/// in ns.
namespace megascope::whatif {

/// Returns the typical duration in ns by type, over all ranks and steps: the mean for work, the
/// median for communication. Unknown durations are ignored; 0 for a type that has no others.
std::vector<float> usual_durations_ns(const OperationGraph& graph);

/// Returns by operation its duration in ns without slowness: never more than its duration.
/// usual_ns: usual_durations_ns(graph). A rank's operations of one type are slow over the whole
/// run, or in one step, if their mean there is more than three standard errors above the typical
/// duration. Each of them is then divided by mean / typical. Scatter between single operations
/// stays, because no cause explains it. Unknown durations stay kUnknownDuration.
std::vector<float> durations_without_slowness_ns(const OperationGraph& graph,
                                                 const std::vector<float>& usual_ns);

}  // namespace megascope::whatif
