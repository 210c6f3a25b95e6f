#include "plugin/run/session.h"

#include "core/base/clock.h"
#include "core/base/safe_file.h"
#include "core/base/text.h"
#include "core/base/thread_cpu.h"
#include "core/base/version.h"
#include "core/base/write_signals.h"
#include "core/config/environment.h"
#include "core/config/local_ranks.h"
#include "core/hooks/hooks.h"
#include "core/trace/chunk_store.h"
#include "core/trace/liveness.h"
#include "core/trace/run_files.h"
#include "core/trace/scratch_home.h"
#include "core/trace/space.h"
#include "plugin/run/buffer_use.h"
#include "plugin/run/exit_line.h"
#include "plugin/run/leftovers.h"
#include "plugin/run/live.h"
#include "plugin/run/message.h"
#include "plugin/run/output.h"
#include "plugin/run/test_clock.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace megascope::run {
namespace {

constexpr int kRefusedExitCode = 2;

/// The rank according to the launcher, before MPI_Init.
std::string launcher_rank() {
  const std::string rank = config::environment_value("PMIX_RANK");
  return rank.empty() ? std::to_string(launcher_place().rank) : rank;
}
bool is_first_by_launcher() { return launcher_rank() == "0"; }

/// Whether this is the first rank of its node. Problems of the node's disk are reported by that
/// rank only.
bool is_first_on_node() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    const std::string rank = config::environment_value(name);
    if (!rank.empty()) return rank == "0";
  }
  return true;
}

}  // namespace

/// Returns true for the first caller only, which then starts the recording.
bool Session::claim() {
  const std::lock_guard lock(claim_mutex_);
  return !std::exchange(is_claimed_, true);
}

bool Session::prepare(ItemReader select_functions) {
  if (claim()) return load(select_functions);
  complain(
      "MPI was initialized after a hook call had started a recording without MPI: MPI calls are "
      "not "
      "recorded");
  return false;
}

bool Session::load(ItemReader select_functions) {
  options_ = config::load_options(config::environment_entries());
  for (std::string& problem : select_functions(options_.values.mpi.items))
    options_.problems.push_back(std::move(problem));
  tensors_ = tensors::read_choices(options_.values.tensors.items, options_.problems);
  if (options_.is_refused()) {
    if (is_first_by_launcher()) {
      for (const std::string& problem : options_.problems) say(problem);
      say("ending the program because MEGASCOPE_STRICT=1 is set");
    }
    _exit(kRefusedExitCode);
  }
  if (!options_.values.enable) return false;
  // Determined now, before the application can change the working directory.
  (void)library_directory();
  choose_clock();
  make_exchange();
  settings_.sync_interval_s = options_.values.sync_interval.value;
  settings_.is_presence_asserted = options_.values.all_ranks;
  settings_.wants_call_sites = options_.values.call_sites;
  settings_.control = control_plan();
  settings_.run_id = make_run_id();
  // First point for the tick rate. MPI_Init takes long enough for a usable rate even if the process
  // ends right after it.
  const clock::Moment moment = clock::measure_moment(settings_.uses_tsc);
  first_moment_ = {moment.ticks, moment.monotonic_ns, moment.realtime_ns};
  return true;
}

void Session::choose_clock() {
  const bool wants_tsc = options_.values.clock != config::ClockChoice::kMonotonic;
  settings_.uses_tsc = wants_tsc && clock::tsc_is_usable();
  if (options_.values.clock == config::ClockChoice::kTsc && !settings_.uses_tsc) {
    options_.problems.push_back(
        "MEGASCOPE_CLOCK=tsc: the TSC of this machine is not invariant or not the kernel's clock "
        "source; CLOCK_MONOTONIC is used instead");
  }
  if (!options_.values.test_clock.items.empty()) return apply_test_clock();
  settings_.clock_domain = clock::domain(settings_.uses_tsc);
}

/// All ranks use CLOCK_MONOTONIC then, including those that the list does not name.
void Session::apply_test_clock() {
  const TestClocks clocks = read_test_clocks(options_.values.test_clock.items, launcher_rank());
  options_.problems.insert(options_.problems.end(), clocks.problems.begin(), clocks.problems.end());
  clock::set_test_clock(clocks.mine);
  settings_.uses_tsc = false;
  settings_.clock_domain = clock::domain(false) + " test clock of rank " + launcher_rank();
}

namespace {

/// Whether the kernel reports how long a thread waited for a core.
bool has_core_wait() {
  ThreadCpuReader reader{};
  const bool has_wait = reader.read().wait_ns != ThreadCpu::kUnknown;
  reader.close();
  return has_wait;
}

}  // namespace

ProcessInfo Session::describe_process(const StartFacts& facts) const {
  ProcessInfo info;
  info.world_rank = facts.world_rank;
  info.world_size = facts.world_size;
  info.pid = getpid();
  info.identity = trace::this_process();
  info.run_id = run_id_;
  info.host = host_name();
  info.program = executable_path();
  info.command_line = command_line();
  info.mpi_library = facts.mpi_library;
  info.job = slurm_job();
  info.launcher = slurm_facts();
  info.run_directory = known_run_directory(options_.values);
  info.world.name = facts.world;
  info.world.parent = facts.parent_world;
  info.is_standalone = is_standalone_;
  info.thread_level = facts.thread_level;
  info.clock.domain = facts.clock_domain;
  info.clock.samples = facts.clock_samples;
  info.start_ticks = facts.start_ticks;
  info.clock.points = {first_moment_};
  info.cpus = node_cpus();
  info.cpus.has_core_wait = has_core_wait();
  return info;
}

Status Session::open_trace(const ProcessInfo& info) {
  scratch_ = choose_scratch(options_.values);
  Status status = trace::make_scratch_directory(scratch_, run_id_, scratch_directory_);
  trace_path_ = scratch_directory_ + "/" + trace::trace_file_name(info.world_rank);
  RecorderOptions recorder;
  recorder.path = trace_path_;
  recorder.policy = options_.values.buffer_policy;
  recorder.use_tsc = settings_.uses_tsc;
  recorder.has_windows = !step_window().has_all();
  recorder.local_ranks = config::local_rank_count(
      config::environment_entries({}), static_cast<std::uint32_t>(std::max(info.world_size, 1)));
  recorder.size_bytes = options_.values.buffer_size_bytes != 0
                            ? options_.values.buffer_size_bytes
                            : trace::disk_share(scratch_directory_, recorder.local_ranks);
  if (is_first())
    recorder.on_tenth_used = [policy = recorder.policy](const BufferUse& use) {
      const std::string line = buffer_use_text(use, policy);
      if (!line.empty()) say(line);
      return !line.empty();
    };
  recorder_ = std::make_unique<Recorder>(std::move(recorder));
  status.update(recorder_->open(info));
  return status;
}

Recorder* Session::begin(const StartFacts& facts, const std::vector<RegionDefinition>& regions) {
  const WriteSignalsBlocked blocked;
  facts_ = facts;
  run_id_ = facts.shared_run_id.empty() ? settings_.run_id : facts.shared_run_id;
  is_standalone_ = facts.world_size > 1 && facts.shared_run_id.empty() &&
                   (facts.is_without_mpi || !settings_.is_presence_asserted);
  const ProcessInfo info = describe_process(facts);
  const Status status = open_trace(info);
  if (!status.is_ok() && is_first_on_node()) {
    say("rank " + std::to_string(facts.world_rank) +
        " records no trace, only totals for the report: " + status.message());
  }
  for (const RegionDefinition& region : regions) recorder_->define(region);
  if (is_first()) {
    for (const std::string& problem : options_.problems) say(problem);
  }
  if (is_first() || is_standalone_) make_directory();
  if (is_first()) report_start(facts);
  prepare_exit(status.is_ok());
  open_live(info);
  open_hooks();
  return recorder_.get();
}

/// Prepares the message for a process that ends without MPI_Finalize; reports leftovers of earlier
/// runs.
void Session::prepare_exit(bool has_trace) {
  constexpr std::uint64_t kMaxLeftBytes = std::uint64_t{1} << 30;
  if (is_first()) {
    const std::uint64_t left = leftover_bytes(scratch_, scratch_directory_, kMaxLeftBytes);
    if (left > kMaxLeftBytes) {
      say("unrecovered traces of earlier runs occupy " + human_bytes(left) + " in " + scratch_ +
          " on " + host_name() +
          "; run `megascope recover --here` there to move them to their run directories");
    }
  }
  if (facts_.is_without_mpi || !has_trace) return;
  exit_line::set("the program ended without MPI_Finalize; run `megascope recover " +
                     (directory_.empty() ? "--here" : shell_quoted(directory_)) +
                     "` to complete the traces",
                 scratch_directory_);
}

void Session::make_directory() {
  const long pid = is_standalone_ ? getppid() : getpid();
  std::string wanted = wanted_run_directory(options_.values, host_name(), pid);
  if (is_standalone_) wanted += "/solo-" + std::to_string(facts_.world_rank);
  Status status = make_run_directory(wanted, directory_);
  if (!status.is_ok()) directory_.clear();
  directory_inode_ = directory_inode(directory_);
  if (status.is_ok()) {
    status = files::write_file(directory_ + "/" + trace::kRunIdFile,
                               run_id_ + "\n" + scratch_ + "\n" + slurm_nodes() + "\n" +
                                   host_name() + "\n" + scratch_directory_ + "\n",
                               kTextMode);
  }
  if (status.is_ok())
    status = files::write_file(directory_ + "/" + trace::kOptionsFile,
                               config::dump_options_sh(options_), kTextMode);
  if (!status.is_ok()) say(status.message() + "; traces stay in " + scratch_directory_);
}

void Session::report_start(const StartFacts& facts) {
  std::string line = std::string(kVersion) + ", " + std::to_string(facts.world_size) +
                     (facts.world_size == 1 ? " rank" : " ranks");
  const std::string nodes = config::environment_value("SLURM_STEP_NUM_NODES");
  if (!nodes.empty()) line += " on " + nodes + (nodes == "1" ? " node" : " nodes");
  line += ", writes to " + (directory_.empty() ? scratch_directory_ : directory_);
  line += ", up to " + human_bytes(recorder_->bound_bytes()) + " a rank";
  if (trace::is_in_memory(scratch_directory_)) line += " in memory (" + scratch_ + ")";
  if (!options_.values.mpi.items.empty())
    line += ", MPI functions selected by MEGASCOPE_MPI=" + joined(options_.values.mpi.items, "+");
  say(line);
  if (!options_.values.verbose || facts.world_size == 1) return;
  say("checked in " + human_duration(static_cast<std::int64_t>(facts.presence_ns)) +
      " that all ranks have the library; compared clocks in " +
      human_duration(static_cast<std::int64_t>(facts.clocks_ns)));
}

void Session::aborting() {
  if (recorder_ != nullptr) recorder_->note_abort();
  close_live(true);
}

void Session::complain(const std::string& message) {
  if (recorder_ != nullptr ? is_first() : is_first_by_launcher()) say(message);
  if (live_ != nullptr)
    // So that users of an empty page read the reason.
    show_notice(*live_, facts_.world_rank, message);
}

}  // namespace megascope::run

namespace megascope {

Runtime& runtime() {
  // Never destroyed, because other threads may be inside a call when the process ends. Constructed
  // on first use, so that the library has no constructor at load time.
  alignas(run::Session) static std::byte storage[sizeof(run::Session)];
  static auto* const session = new (storage) run::Session;
  return *session;
}

}  // namespace megascope
