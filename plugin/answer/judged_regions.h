#pragma once

#include "analysis/detect/detect.h"
#include "analysis/detect/reduction.h"
#include "analysis/match/match_tables.h"
#include "analysis/pieces/hidden_sync.h"
#include "analysis/pieces/region_run.h"
#include "analysis/pieces/work_source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope::answer {

/// What makes a run of regions slow: work that ranks do by themselves, work that groups do in step,
/// and transfers.
class JudgedRegions {
 public:
  /// source: pieces::is_of_regions(). All outlive the object. Reads the records twice.
  JudgedRegions(const RecordSource& source, const analysis::MatchTables& tables,
                const detect::GroupIndices& groups, const detect::Options& options);

  detect::Detection detect() const;
  /// The program's own numbers of the judged steps.
  const std::vector<std::int64_t>& step_numbers() const { return own_->step_numbers(); }
  const pieces::RegionRun& run() const { return run_; }
  const pieces::HiddenSync& hidden() const { return hidden_; }

 private:
  void find_shared_work();
  void find_links(const RecordSource& source, const analysis::MatchTables& tables);

  detect::Options options_;
  pieces::RegionRun run_;
  pieces::HiddenSync hidden_;
  std::unique_ptr<pieces::WorkSource> own_;
  detect::StepMarks steps_;
  std::vector<std::unique_ptr<pieces::WorkSource>>
      groups_;  ///< by the dimensions that operations synchronise
  std::vector<std::unique_ptr<detect::StepMarks>> group_steps_;
  std::vector<detect::SharedWork> shared_;
  std::vector<detect::Link> links_;
};

}  // namespace megascope::answer
