#pragma once

#include "core/clocks/clock_domain.h"
#include "core/lifecycle/collective.h"
#include "exporters/report/run_report.h"

#include <string>
#include <vector>

/// The end of a run as a collective operation of all ranks: the order of the steps and who reports
/// what.
namespace megascope::run {

/// One process's part in the end of a run. conclude() calls the functions in the order in which
/// they are declared.
class RunPart {
 public:
  virtual ~RunPart() = default;

  /// The run directory, if this process knows it, else empty. Rank 0's value is used on all ranks.
  virtual std::string own_directory() = 0;
  /// Moves the native trace to the run directory. directory: empty if there is no run directory.
  virtual void enter_directory(const std::string& directory) = 0;
  virtual ClockDomain clock() = 0;
  virtual report::RunReport report() = 0;
  /// The export formats. Called on rank 0 only. report: of all ranks.
  virtual std::vector<std::string> wanted_formats(const report::RunReport& report) = 0;
  /// Writes the exports. Collective; not called if no format is wanted. clocks: of the run, one for
  /// each clock domain. report: on rank 0, of all ranks.
  virtual void run_exports(Collective& group, const std::vector<std::string>& formats,
                           const std::vector<ClockDomain>& clocks, report::RunReport& report) = 0;
  /// Writes the report. Collective. clocks, report: on rank 0, of the run.
  virtual void close(Collective& group, const std::vector<ClockDomain>& clocks,
                     report::RunReport& report) = 0;
};

/// Runs the end of a run. Collective; O(log size) messages a rank in addition to those of the
/// RunPart functions. Returns an error if the ranks could not agree on a run directory; nothing
/// else is done then.
Status conclude(Collective& group, RunPart& part);

/// Returns on every rank the first error in rank order, or ok. Collective.
Status agree(Collective& group, const Status& mine);

}  // namespace megascope::run
