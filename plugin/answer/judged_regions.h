#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/reduction.h"
#include "analysis/match/match_tables.h"
#include "analysis/segments/hidden_sync.h"
#include "analysis/segments/region_run.h"
#include "analysis/segments/work_source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::answer {

/// Finds the root causes in a run of regions, that is, a timeline of operations without MPI calls.
/// It judges three things: work that each rank does alone, work that contains synchronisation (as
/// work of the whole group), and point-to-point transfers. The constructor prepares the data;
/// detect() judges them.
class JudgedRegions {
 public:
  /// source: segments::is_of_regions() is true. groups: coordinates of the ranks in the parallel
  /// groups, or empty. options: its `steps`, `shared`, `links` and `clock_error_ns` are ignored.
  /// source, tables, groups and the objects that options points to outlive the object. Reads the
  /// records twice. Memory: 48 bytes a segment of work or communication, and 16 more a segment of
  /// work. If hidden synchronisation is found, also 4 bytes a segment, 8 a segment that
  /// synchronises, and a WorkSource for each set of dimensions over which operations synchronise.
  JudgedRegions(const RecordSource& source, const analysis::MatchTables& tables,
                const detect::GroupIndices& groups, const detect::Options& options);

  /// Returns the root causes. Step indices in it refer to step_numbers(). Slow links between the
  /// same two groups are joined to one root cause if groups are known.
  detect::Detection detect() const;
  /// The application's numbers of the judged steps, ascending.
  const std::vector<std::int64_t>& step_numbers() const { return own_->step_numbers(); }
  /// The segments of the run, and the synchronisation found in them. Valid as long as the object.
  const segments::RegionRun& run() const { return run_; }
  const segments::HiddenSync& hidden() const { return hidden_; }

 private:
  void find_shared_work();
  void find_links(const RecordSource& source, const analysis::MatchTables& tables);

  detect::Options options_;
  segments::RegionRun run_;
  segments::HiddenSync hidden_;
  std::unique_ptr<segments::WorkSource> own_;
  detect::StepMarks steps_;
  std::vector<std::unique_ptr<segments::WorkSource>>
      groups_;  ///< one for each set of dimensions over which operations synchronise
  std::vector<std::unique_ptr<detect::StepMarks>> group_steps_;
  std::vector<detect::SharedWork> shared_;
  std::vector<detect::Link> links_;
};

}  // namespace megascope::answer
