#pragma once

#include "analysis/match/match_tables.h"
#include "analysis/pieces/piece.h"
#include "core/record/source.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::pieces {

/// The pieces of all processes of a run of regions, that is, a run of annotated or imported
/// operations without MPI calls. A piece is a stretch of one thread's time: work or communication.
/// Piece indices of HiddenSync and of operation graphs refer to this object. Memory: 48 bytes a
/// piece.
struct RegionRun {
  std::vector<std::vector<Piece>>
      processes;  ///< by index in world_ranks(); each location's pieces in order of begin
  std::vector<std::string> names;  ///< by Piece::name

  std::size_t piece_count() const {
    std::size_t count = 0;
    for (const std::vector<Piece>& pieces : processes) count += pieces.size();
    return count;
  }
};

/// Reads the pieces of all processes. source: is_of_regions() is true. One pass over all records.
RegionRun read_regions(const RecordSource& source, const analysis::MatchTables& tables);

}  // namespace megascope::pieces
