#pragma once

#include "core/lifecycle/collective.h"
#include "core/record/clock_domain.h"
#include "exporters/report/run_report.h"

#include <string>
#include <vector>

/// The end of a run as all ranks go through it together: what is said by whom, and in which order.
namespace megascope::run {

/// What one process does at the end of a run, a step at a time. Steps are called in the order in
/// which they stand here.
class RunPart {
 public:
  virtual ~RunPart() = default;

  /// The run folder, if this process knows it; that of rank 0 counts.
  virtual std::string own_folder() = 0;
  /// Brings the native trace to the run folder; empty: there is none.
  virtual void enter_folder(const std::string& folder) = 0;
  virtual ClockDomain clock() = 0;
  virtual report::RunReport report() = 0;
  /// Only of rank 0. report: of all ranks.
  virtual std::vector<std::string> wanted_formats(const report::RunReport& report) = 0;
  /// Together. Not called where no format is wanted. clocks: of the run, one a clock domain.
  /// report: of all ranks on rank 0.
  virtual void run_exports(Collective& group, const std::vector<std::string>& formats,
                           const std::vector<ClockDomain>& clocks, report::RunReport& report) = 0;
  /// Together. clocks, report: of the run on rank 0.
  virtual void close(Collective& group, const std::vector<ClockDomain>& clocks,
                     report::RunReport& report) = 0;
};

/// Goes through the steps, O(log size) messages a rank beside what the steps themselves send. An
/// error: the ranks could not even agree on a folder, and nothing else was done.
Status conclude(Collective& group, RunPart& part);

/// The first error of all members, on all of them.
Status agree(Collective& group, const Status& mine);

}  // namespace megascope::run
