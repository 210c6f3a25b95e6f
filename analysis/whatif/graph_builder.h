#pragma once

#include "analysis/detect/annotated_steps.h"
#include "analysis/match/match_tables.h"
#include "analysis/segments/hidden_sync.h"
#include "analysis/segments/region_run.h"
#include "analysis/whatif/operation_graph.h"
#include "core/record/source.h"

namespace megascope::whatif {

/// What build_graph() reads, and how much of the run it keeps. An operation is an MPI call, the
/// work between two calls, or a segment of a region.
struct GraphOptions {
  /// Limit for MPI programs. If a run has more operations, eight segments distributed over the run
  /// are kept, with as many steps as fit.
  std::size_t max_operations = std::size_t{1} << 19;
  /// Limit for runs of regions (annotated or imported operations, without MPI calls). If a run has
  /// more operations, its first steps are kept, as many as fit.
  std::size_t max_annotated_operations = std::size_t{1} << 24;
  unsigned jobs = 1;  ///< threads that read and match, including the caller's
  /// Runs of regions: the segments that the caller has read. null: build_graph() reads the segments
  /// itself.
  const segments::RegionRun* regions = nullptr;
  /// Runs of regions: the work that contains synchronisation. Its indices refer to `regions`. null:
  /// no work does.
  const segments::HiddenSync* hidden = nullptr;
  /// MPI programs: the annotated steps. null or empty: steps are inferred from the calls.
  const detect::AnnotatedSteps* annotated = nullptr;
};

/// Builds the graph of a run. Runs of regions (segments::is_of_regions): the operations are the
/// regions that name their step. Other runs: the operations are the MPI calls and the work between
/// them. Returns a graph without operations, with the reason in `limitations`, if no steps are
/// found or the steps cannot be compared (docs/what_if.md lists the cases). Reads the records
/// twice. Memory: about 100 bytes an operation.
OperationGraph build_graph(const RecordSource& source, const analysis::MatchTables& tables,
                           const GraphOptions& options = {});

}  // namespace megascope::whatif
