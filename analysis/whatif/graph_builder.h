#pragma once

#include "analysis/detect/annotated_steps.h"
#include "analysis/match/match_tables.h"
#include "analysis/pieces/hidden_sync.h"
#include "analysis/pieces/region_run.h"
#include "analysis/whatif/operation_graph.h"
#include "core/record/source.h"

namespace megascope::whatif {

struct GraphOptions {
  std::size_t max_operations = std::size_t{1}
                               << 19;  ///< of a longer run so many steps are taken as fit
  std::size_t
      max_annotated_operations = std::size_t{1}
                                 << 24;  ///< the same of regions: of those the first steps that fit
  unsigned jobs = 1;
  const pieces::RegionRun*
      regions = nullptr;  ///< of a run of regions: its pieces, if they are known; null: read
  const pieces::HiddenSync*
      hidden = nullptr;  ///< of those: what synchronises inside; null: nothing
  const detect::AnnotatedSteps*
      annotated = nullptr;  ///< those of the program, if it tells any; null, or none: found
};

/// The graph of a run: its own regions with steps, where another tool told them, else MPI calls and
/// the work between them. Empty (no operations) where no steps are found. Reads the records twice.
/// Memory: some 100 bytes an operation.
OperationGraph build_graph(const RecordSource& source, const analysis::MatchTables& tables,
                           const GraphOptions& options = {});

}  // namespace megascope::whatif
