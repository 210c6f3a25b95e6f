#pragma once

#include "core/clocks/run_time.h"
#include "core/config/options.h"
#include "core/hooks/window.h"
#include "core/lifecycle/runtime.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"
#include "plugin/run/conclusion.h"
#include "plugin/steps/step_exchange.h"
#include "plugin/tensors/tensor_choice.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace megascope::run {

/// One process's part of a run: from MPI_Init to MPI_Finalize, or, for programs without MPI, from
/// the first hook call to the end of the process. Implements Runtime (core/lifecycle/runtime.h),
/// which describes the public functions.
/// One thread at a time, except hook_called().
class Session final : public Runtime, private RunPart {
 public:
  bool prepare(ItemReader select_functions) override;
  const RunSettings& settings() const override { return settings_; }
  Recorder* begin(const StartFacts& facts, const std::vector<RegionDefinition>& regions) override;
  void end(Collective* collective, const PeerPresence& presence) override;
  void hook_called() override;
  /// Called at process exit. Ends a recording without MPI.
  void at_exit();
  void aborting() override;
  void complain(const std::string& message) override;

 private:
  bool claim();
  bool load(ItemReader select_functions);
  void begin_without_mpi();
  void make_exchange();
  ControlPlan control_plan() const;
  hooks::StepWindow step_window() const;
  void open_hooks();
  void open_live(const ProcessInfo& info);
  void close_live(bool is_aborted);
  ProcessInfo describe_process(const StartFacts& facts) const;
  void choose_clock();
  void apply_test_clock();
  Status open_trace(const ProcessInfo& info);
  void make_directory();
  void report_start(const StartFacts& facts);
  void prepare_exit(bool has_trace);

  void end_with(Collective& group, const PeerPresence& presence);
  void go_standalone(const PeerPresence& presence);
  std::string own_directory() override;
  void enter_directory(const std::string& directory) override;
  report::RunReport report() override;
  std::vector<std::string> wanted_formats(const report::RunReport& report) override;
  ClockDomain clock() override { return clock_domain_of(recorder_->info()); }
  void run_exports(Collective& collective, const std::vector<std::string>& formats,
                   const std::vector<ClockDomain>& clocks, report::RunReport& report) override;
  void close(Collective& group, const std::vector<ClockDomain>& clocks,
             report::RunReport& report) override;
  Status run_export(Collective& collective, const std::string& format, const RecordSource& source,
                    report::RunReport& report);
  bool wants_verdict() const;
  void note_messages(Collective& collective, report::RunReport& report) const;
  void close_report(const std::vector<ClockDomain>& clocks, report::RunReport& report);
  void complain_of_memory() noexcept;
  void write_report(report::RunReport& report);
  void report_how_to_annotate(const report::RunReport& report);
  bool is_first() const { return facts_.is_first_here; }

  std::mutex claim_mutex_;
  bool is_claimed_ = false;  ///< the recording has been started, either by MPI_Init or by a hook
  /// Whether MPI_Init is to start the recording. Set by the first hook call (a function of
  /// megascope.h or NVTX) if the process has an MPI library, this library was loaded with the
  /// program, and MEGASCOPE_WITHOUT_MPI is off. Otherwise the hook itself starts the recording.
  bool is_waiting_ = false;
  config::LoadedOptions options_;
  std::vector<tensors::TensorChoice> tensors_;  ///< tensors whose statistics are recorded
  RunSettings settings_;
  std::string run_id_;
  std::string scratch_;            ///< MEGASCOPE_SCRATCH, or its default
  std::string scratch_directory_;  ///< directory of this run in scratch_
  /// The run directory. On a standalone rank, the rank's own subdirectory of the run directory.
  std::string directory_;
  std::uint64_t directory_inode_ = 0;  ///< inode of the run directory, if this process created it
  std::string trace_path_;             ///< current path of the native trace
  StartFacts facts_;
  ClockPoint first_moment_;
  long first_moment_pid_ = 0;  ///< process id at the first hook call
  /// Standalone: this rank's results are not combined with those of other ranks.
  bool is_standalone_ = false;
  /// Nullptr: no step exchange. Never freed.
  steps::StepExchange* exchange_ = nullptr;
  capture::Capture* capture_ = nullptr;  ///< nullptr: no live view. Never freed
  /// Only on rank 0, if the live view could be opened. Never freed.
  LiveServer* live_ = nullptr;
  std::unique_ptr<Recorder> recorder_;
  std::vector<std::string> notes_;
  std::uint64_t messages_before_end_ = 0;
};

}  // namespace megascope::run
