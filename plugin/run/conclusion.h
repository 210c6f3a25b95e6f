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
  /// Returns the export formats. Called on rank 0 only. report: the merged report of all ranks.
  virtual std::vector<std::string> wanted_formats(const report::RunReport& report) = 0;
  /// Writes the exports. Collective; not called if there are no formats. clocks: all clock domains
  /// of the run. report: on rank 0, the merged report of all ranks.
  virtual void run_exports(Collective& group, const std::vector<std::string>& formats,
                           const std::vector<ClockDomain>& clocks, report::RunReport& report) = 0;
  /// Writes the report. Collective. clocks: on rank 0, all clock domains of the run. report: on
  /// rank 0, the merged report of all ranks.
  virtual void close(Collective& group, const std::vector<ClockDomain>& clocks,
                     report::RunReport& report) = 0;
};

/// Ends a run. Collective. Each rank sends O(log size) messages in addition to those of the RunPart
/// functions. If the ranks cannot agree on a run directory, returns an error and does nothing else.
Status conclude(Collective& group, RunPart& part);

/// Combines the ranks' results. Returns, on every rank, the error of the lowest rank that passed
/// one in `mine`, or ok if no rank did. Collective.
Status agree(Collective& group, const Status& mine);

}  // namespace megascope::run
