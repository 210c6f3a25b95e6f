#pragma once

#include "analysis/match/match_tables.h"
#include "analysis/pieces/piece.h"
#include "analysis/whatif/operation_graph.h"
#include "analysis/whatif/waits_between.h"

#include <vector>

namespace megascope::whatif {

/// Makes operations of pieces, which lie process by process as `numbers` says, and groups of what
/// they wait for. graph: has its world_ranks and has_separate_steps.
void assemble(const std::vector<pieces::Piece>& pieces, WaitSink& waits,
              const PieceNumbers& numbers, const analysis::MatchTables& tables,
              OperationGraph& graph);

}  // namespace megascope::whatif
