#include "core/base/clock.h"
#include "core/base/safe_file.h"
#include "core/base/scarce_memory.h"
#include "core/base/standard_error.h"
#include "core/base/text.h"
#include "core/base/version.h"
#include "core/base/write_signals.h"
#include "core/config/export_formats.h"
#include "core/hooks/cpu_readings.h"
#include "core/hooks/hooks.h"
#include "core/lifecycle/locate_call_sites.h"
#include "core/lifecycle/module_loader.h"
#include "core/trace/reader.h"
#include "core/trace/recover.h"
#include "core/trace/run_files.h"
#include "core/trace/scratch_home.h"
#include "exporters/report/summary.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "plugin/run/exit_line.h"
#include "plugin/run/output.h"
#include "plugin/run/session.h"
#include "plugin/run/verdict.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

/// The end of a run: traces to the run directory, exports, report.
namespace megascope::run {
namespace {

/// Time for clients of the live view to receive what is left.
constexpr std::uint64_t kLingerMs = 500;
constexpr std::int32_t kMaxRanksOfDefaultExport = 64;
/// Factor from the size of the report's text to the memory of its JSON tree.
constexpr std::uint64_t kJsonGrowth = 64;
constexpr std::uint64_t kMaxUnpackedBytesOfDefaultExport = std::uint64_t{1} << 30;

}  // namespace

void Session::end(Collective* collective, const PeerPresence& presence) {
  const WriteSignalsBlocked blocked;
  exit_line::clear();
  if (facts_.is_without_mpi) (void)hooks::read_cpu();
  hooks::close();
  if (live_ != nullptr)
    live_->begin_end(false, kLingerMs);  // clients receive the rest while files are written
  messages_before_end_ = mpi::own_message_count();
  const Status stored = [&] {
    const OverheadTimer own(*recorder_);
    return recorder_->finish(EndState::kFinalized);
  }();
  if (!stored.is_ok()) {
    const bool goes_on = !recorder_->has_stopped() &&
                         options_.values.buffer_policy == config::BufferPolicy::kFlight;
    notes_.push_back("rank " + std::to_string(facts_.world_rank) +
                     (goes_on ? " recorded fewer calls: " : " stopped recording to disk: ") +
                     stored.message());
  }
  if (collective != nullptr) {
    end_with(*collective, presence);
    return close_live(false);
  }
  const std::unique_ptr<Collective> single = make_single_collective();
  without_throwing([&] { end_with(*single, presence); },
                   // In a collective end the other ranks would wait for this one.
                   [this] { complain_of_memory(); });
  close_live(false);
}

void Session::close_live(bool is_aborted) {
  if (live_ != nullptr) live_->close(is_aborted, is_aborted ? 0 : kLingerMs);
}

void Session::end_with(Collective& group, const PeerPresence& presence) {
  if (group.size() == 1 && facts_.world_size > 1) go_standalone(presence);
  const Status status = conclude(group, *this);
  if (!status.is_ok()) complain(status.message());
}

/// Adds to the report how many messages the library sent at the end. Collective over all ranks,
/// independent of their options.
void Session::note_messages(Collective& collective, report::RunReport& report) const {
  const std::uint64_t mine = mpi::own_message_count() - messages_before_end_;
  Collective::Bytes bytes(sizeof mine);
  std::memcpy(bytes.data(), &mine, sizeof mine);
  const Status status = collective.merge_up(
      bytes, [](Collective::Bytes& most, std::span<const std::byte> other) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, most.data(), sizeof a);
        std::memcpy(&b, other.data(), sizeof b);
        if (b > a) std::memcpy(most.data(), &b, sizeof b);
      });
  std::uint64_t most = 0;
  std::memcpy(&most, bytes.data(), sizeof most);
  if (!status.is_ok() || collective.rank() != 0 || !options_.values.verbose) return;
  report.notes.push_back("messages sent by MegaScope at the end: at most " + std::to_string(most) +
                         " by one rank");
}

/// Rank 0 has the library, but some rank does not, or that cannot be determined: this rank finishes
/// standalone.
void Session::go_standalone(const PeerPresence& presence) {
  if (is_first()) {
    std::string line = "no common trace of all ranks: " + presence.reason;
    for (std::size_t i = 0; i < presence.missing.size(); ++i)
      line += (i == 0 ? " (missing: " : " ") + std::to_string(presence.missing[i]);
    if (facts_.is_without_mpi)
      line += "; each process writes its own trace";
    else
      line += presence.missing.empty() ? "; each rank writes its own trace. Set "
                                         "MEGASCOPE_ALL_RANKS=1 if all ranks have the library"
                                       : "); each rank with the library writes its own trace";
    complain(line);
  }
  const bool was_standalone = std::exchange(is_standalone_, true);
  if (!was_standalone && facts_.world_rank != 0) make_directory();
}

std::string Session::own_directory() {
  // A user with write access to a parent directory may have replaced it by another directory or a
  // link.
  if (!directory_.empty() && directory_inode(directory_) != directory_inode_) {
    complain(directory_ + " was replaced by another directory during the run; traces stay in " +
             scratch_directory_);
    directory_.clear();
  }
  return directory_;
}

void Session::enter_directory(const std::string& directory) {
  const OverheadTimer own(*recorder_);
  directory_ = directory;
  struct stat info {};
  if (directory_.empty()) return;
  if (stat(trace_path_.c_str(), &info) != 0) {
    if (recorder_->has_storage())
      notes_.push_back("the trace of rank " + std::to_string(facts_.world_rank) +
                       " is missing: " + trace_path_ + " was removed while the program ran");
    return;
  }
  if (directory_inode(directory_) == 0) {  // one sentence a node, not one a rank
    notes_.push_back("the run directory is not visible on " + host_name() +
                     ": its traces stay there, in " + scratch_directory_ +
                     "; copy them and run `megascope join` to combine them");
    return;
  }
  const std::string target = directory_ + "/" + trace::trace_file_name(facts_.world_rank);
  const Status status = trace::move_trace(trace_path_, target);
  if (status.is_ok()) {
    trace_path_ = target;
    trace::remove_scratch_directory(scratch_directory_);
  } else {
    notes_.push_back("the trace of rank " + std::to_string(facts_.world_rank) +
                     " stays on its node: " + status.message());
  }
}

report::RunReport Session::report() {
  if (recorder_->options().has_windows && hooks::current_step() < 0) {
    notes_.emplace_back(
        "only totals were recorded: steps are selected (MEGASCOPE_STEP_START, _INTERVAL, _COUNT), "
        "but "
        "the application annotates none (megascope_step_begin)");
  }
  if (exchange_ != nullptr) {
    for (std::string& note : exchange_->notes()) notes_.push_back(std::move(note));
  }
  Profile profile;
  report::RankFacts facts;
  {
    const OverheadTimer own(*recorder_);
    profile = recorder_->profile();
  }
  facts.version = kVersion;
  facts.trace_bytes = recorder_->used_bytes();
  facts.unpacked_trace_bytes = recorder_->unpacked_bytes();
  facts.overhead_ticks = recorder_->overhead_ticks();
  facts.ns_per_profile_unit = report::ns_per_tick(recorder_->definitions().info);
  facts.is_standalone = is_standalone_;
  facts.cpu = hooks::cpu_totals();
  facts.notes = notes_;
  return report::summarize(recorder_->definitions(), profile, facts);
}

std::vector<std::string> Session::wanted_formats(const report::RunReport& report) {
  std::vector<std::string> formats = options_.values.exports;
  if (formats.empty()) {
    const bool is_small = facts_.world_size <= kMaxRanksOfDefaultExport &&
                          report.unpacked_trace_bytes <= kMaxUnpackedBytesOfDefaultExport;
    for (const config::ExportFormat& format : config::kExportFormats) {
      if (is_small && format.when == config::FormatWhen::kByDefault)
        formats.emplace_back(format.name);
    }
  }
  std::erase(formats, "none");
  return formats;
}

bool Session::wants_verdict() const {
  return std::ranges::find(options_.values.exports, "none") == options_.values.exports.end();
}

void Session::run_exports(Collective& collective, const std::vector<std::string>& formats,
                          const std::vector<ClockDomain>& clocks, report::RunReport& report) {
  if (directory_.empty()) {
    report.notes.push_back("nothing was exported, because there is no run directory");
    return;
  }
  std::unique_ptr<trace::RunSource> source;
  Status opened = trace::RunSource::open_own(trace_path_, clocks, source);
  if (opened.is_ok()) {
    const std::uint64_t unpacked_bytes = source->file(facts_.world_rank).unpacked_bytes();
    opened = check_space(directory_, unpacked_bytes, facts_.world_size);
    if (opened.is_ok() && collective.rank() == 0)
      opened = try_space(directory_, report.unpacked_trace_bytes, collective.size());
    opened.update(check_memory(unpacked_bytes));
  }
  if (opened.is_ok()) {
    std::vector<CallSiteDefinition*> sites;
    for (CallSiteDefinition& site : source->call_sites(facts_.world_rank)) sites.push_back(&site);
    std::vector<std::string> same_as_of_report;
    locate_call_sites(library_directory(), sites, source->start_realtime_ns(), same_as_of_report);
  }
  opened = agree(collective, opened);
  for (const std::string& format : formats) {
    const Status status = opened.is_ok() ? run_export(collective, format, *source, report) : opened;
    if (!status.is_ok() && collective.rank() == 0) {
      report.notes.push_back("the export to " + format + " failed: " + status.message());
    }
  }
}

Status Session::run_export(Collective& collective, const std::string& format,
                           const RecordSource& source, report::RunReport& report) {
  const ModuleTable* module = nullptr;
  Status status = agree(collective, load_module(library_directory(), format, module));
  if (!status.is_ok()) return status;
  ExportJob job;
  job.source = &source;
  job.collective = &collective;
  job.directory = directory_;
  job.generator = std::string("megascope ") + kVersion;
  job.has_plain_comms = options_.values.otf2_intercomm == config::Otf2Intercomm::kComm;
  ExportResult result;
  status = agree(collective, module->run_export(job, result));
  if (status.is_ok() && collective.rank() == 0) {
    report.conclusion.exports.push_back(
        {.format = format, .path = result.path, .records = result.records, .bytes = result.bytes});
    for (const std::string& note : result.notes)
      report.notes.push_back("the export to " + format + ": " + note);
  }
  return status;
}

void Session::close(Collective& group, const std::vector<ClockDomain>& clocks,
                    report::RunReport& report) {
  note_messages(group, report);
  if (group.rank() != 0) return;
  // After this point no other rank waits for rank 0.
  without_throwing([&] { close_report(clocks, report); }, [this] { complain_of_memory(); });
}

void Session::complain_of_memory() noexcept {
  without_throwing(
      [this] {
        complain("out of memory: the report or an export is missing; the trace is in " +
                 trace_path_);
      },
      [] {});
}

void Session::close_report(const std::vector<ClockDomain>& clocks, report::RunReport& report) {
  report.conclusion.clocks = report::clock_facts(run_time_of(clocks));
  if (exchange_ != nullptr) {
    const steps::StepExchangeFacts facts = exchange_->facts();
    report.conclusion.step_exchange = {facts.steps, facts.skipped, facts.step_ns, facts.own_ns,
                                       facts.wait_ns};
  }
  if (wants_verdict())
    add_verdict(library_directory(), directory_, report);
  else
    add_verdict_command(directory_, report);
  if (live_ != nullptr) live_->conclude(report.conclusion.verdict);
  write_report(report);
}

void Session::write_report(report::RunReport& report) {
  std::vector<CallSiteDefinition*> sites;
  for (report::CallSiteRow& row : report.call_sites) sites.push_back(&row.site);
  locate_call_sites(library_directory(), sites, report.start_realtime_ns, report.notes);
  report.conclusion.directory = directory_;
  if (!directory_.empty()) report.conclusion.report_command = "megascope report " + directory_;
  const std::string text = report::to_text(report);
  const std::string path = directory_ + "/" + trace::kReportTextFile;
  std::string where = directory_.empty() ? "no run directory" : "report in " + path;
  if (!directory_.empty()) {
    Status status = files::write_file(path, text, kTextMode);
    if (!status.is_ok()) {
      const std::string run = shell_quoted(directory_);
      where = path + " was not written; `megascope report " + run +
              "` prints the report. If traces stayed on their nodes, run `megascope recover " +
              run + "` first";
    }
    // A partly built JSON tree cannot be freed without memory.
    status.update(check_memory(text.size() * kJsonGrowth));
    if (status.is_ok())
      status = files::write_file(directory_ + "/" + trace::kReportJsonFile, report::to_json(report),
                                 kTextMode);
    if (!status.is_ok()) complain(status.message());
  }
  if (options_.values.report == config::ReportStyle::kFull && is_first())
    standard_error::write(text);
  if (options_.values.report == config::ReportStyle::kShort) {
    complain("done; " + where);
  }
  report_how_to_annotate(report);
}

/// Says how to get a timeline with wait states and findings. Exports written at the end of a run
/// have none, because no process has all ranks' records at that time.
void Session::report_how_to_annotate(const report::RunReport& report) {
  const auto timeline = std::ranges::find_if(report.conclusion.exports, config::can_show_findings,
                                             &report::ExportRow::format);
  if (timeline == report.conclusion.exports.end() || facts_.world_size < 2 ||
      options_.values.report == config::ReportStyle::kOff)
    return;
  complain("for a timeline with wait states and findings run: megascope export " +
           shell_quoted(directory_) + " --format " + timeline->format + " --out " +
           shell_quoted(directory_ + "/findings"));
}

}  // namespace megascope::run
