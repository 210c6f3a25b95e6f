#pragma once

#include "analysis/match/match_tables.h"
#include "analysis/segments/segment.h"
#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/waits_between.h"

#include <vector>

namespace megascope::whatif {

/// Fills `graph`: converts segments to operations, and the dependencies of segments to groups.
/// segments: the segments of all processes, in the order in which `numbers` counts them. waits: the
/// dependencies; the function takes them out of it. graph: on entry, world_ranks, names and
/// has_separate_steps are set, and there are no operations. It stays without operations if
/// `segments` is empty. Of several collectives that one call completes, only one is a dependency.
/// In a graph with separate steps, dependencies of single segments (WaitSink::Need) between steps
/// are ignored.
void assemble(const std::vector<segments::Segment>& segments, WaitSink& waits,
              const SegmentNumbers& numbers, const analysis::MatchTables& tables,
              OperationGraph& graph);

}  // namespace megascope::whatif
