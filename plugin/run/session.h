#pragma once

#include "core/config/options.h"
#include "core/hooks/window.h"
#include "core/lifecycle/runtime.h"
#include "core/record/run_time.h"
#include "core/record/source.h"
#include "exporters/report/run_report.h"
#include "plugin/run/conclusion.h"
#include "plugin/tensors/step_talk.h"
#include "plugin/tensors/tensor_choice.h"

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace megascope::run {

/// One process's part of a run, from MPI_Init to MPI_Finalize, or from its first hook to its end.
/// One thread at a time, but for hook_called().
class Session final : public Runtime, private RunPart {
 public:
  bool prepare(ItemReader select_functions) override;
  bool uses_tsc() const override { return use_tsc_; }
  std::string clock_domain() const override;
  double sync_interval_s() const override { return options_.values.sync_interval.value; }
  bool is_company_vouched() const override { return options_.values.all_ranks; }
  bool wants_call_sites() const override { return options_.values.call_sites; }
  ControlPlan control_plan() const override;
  const std::string& own_run_id() const override { return own_run_id_; }
  Recorder* begin(const StartFacts& facts, const std::vector<RegionDefinition>& regions) override;
  void end(Collective* collective, const Company& company) override;
  void hook_called() override;
  /// The process ends: so does a recording without MPI.
  void at_exit();
  void aborting() override;
  void complain(const std::string& message) override;

 private:
  bool claim();
  bool load(ItemReader select_functions);
  void begin_without_mpi();
  void make_talk();
  hooks::StepWindow step_window() const;
  void open_hooks();
  void open_live(const ProcessInfo& info);
  void close_live(bool is_aborted);
  ProcessInfo describe_process(const StartFacts& facts) const;
  void apply_test_clock();
  Status open_trace(const ProcessInfo& info);
  void make_folder();
  void say_start(const StartFacts& facts);
  void prepare_exit(bool has_trace);

  void end_with(Collective& group, const Company& company);
  void go_alone(const Company& company);
  std::string own_folder() override;
  void enter_folder(const std::string& folder) override;
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
  void say_how_to_annotate(const report::RunReport& report);
  bool is_first() const { return facts_.is_first_here; }

  std::mutex claim_mutex_;
  bool is_claimed_ = false;  ///< MPI, or hooks, begin the recording: whoever comes first
  bool is_waiting_ = false;  ///< hooks were called, and MPI is loaded
  config::LoadedOptions options_;
  std::vector<tensors::TensorChoice> tensors_;  ///< of which statistics are wanted
  bool use_tsc_ = true;
  std::string test_clock_;  ///< what sets this process's clock apart; empty: nothing
  std::string own_run_id_;
  std::string run_id_;
  std::string scratch_;             ///< MEGASCOPE_SCRATCH as used
  std::string scratch_folder_;      ///< of this run
  std::string folder_;              ///< the run folder; of solo ranks their part of it
  std::uint64_t folder_inode_ = 0;  ///< of the run folder that this process created
  std::string trace_path_;          ///< where the native trace lies now
  StartFacts facts_;
  ClockPoint first_moment_;
  long first_moment_pid_ = 0;  ///< of the process whose hooks were called
  bool is_alone_ = false;      ///< no other rank will be heard of
  tensors::StepTalk*
      talk_ = nullptr;  ///< nullptr: ranks do not talk at steps. For as long as the process lives
  tensors::Capture* capture_ = nullptr;  ///< nullptr: there is no live view. As talk_
  LiveServer* live_ = nullptr;           ///< on rank 0, where it could be opened. As talk_
  std::unique_ptr<Recorder> recorder_;
  std::vector<std::string> notes_;
  std::uint64_t messages_before_end_ = 0;
};

}  // namespace megascope::run
