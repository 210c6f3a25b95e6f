#pragma once

#include "analysis/whatif/operation_graph.h"

#include <vector>

/// What operations usually take, and what those that are slow for a reason would have taken.
namespace megascope::whatif {

/// By type: of work the mean, of communication the median, over all ranks and steps.
std::vector<float> usual_durations_ns(const OperationGraph& graph);

/// What each operation takes without what makes it slow: never more than it took. A rank's
/// operations of one type are slow as a whole, or in a step, where their mean lies above the usual
/// time by more than three standard errors; each is then shorter by that factor. Scatter from one
/// operation to the next stays: nothing explains it. usual_ns: by type. Unknown durations stay
/// unknown.
std::vector<float> durations_without_slowness_ns(const OperationGraph& graph,
                                                 const std::vector<float>& usual_ns);

}  // namespace megascope::whatif
