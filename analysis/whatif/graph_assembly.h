#pragma once

#include "analysis/match/match_tables.h"
#include "analysis/pieces/piece.h"
#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/waits_between.h"

#include <vector>

namespace megascope::whatif {

/// Converts pieces to the operations of `graph`, and their dependencies to groups. pieces: the
/// pieces of all processes, in the order in which `numbers` counts them. waits: its matches are
/// taken out. graph: on entry world_ranks, names and has_separate_steps are set, and there are no
/// operations; filled in place. It stays without operations if `pieces` is empty. Of several
/// collectives that one call completes, only one is a dependency. In a graph with separate steps,
/// dependencies of single pieces (WaitSink::Need) between steps are ignored.
void assemble(const std::vector<pieces::Piece>& pieces, WaitSink& waits,
              const PieceNumbers& numbers, const analysis::MatchTables& tables,
              OperationGraph& graph);

}  // namespace megascope::whatif
