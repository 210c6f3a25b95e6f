#include "plugin/run/session.h"

#include "core/base/clock.h"
#include "core/base/own_object.h"
#include "core/base/safe_file.h"
#include "core/base/standard_error.h"
#include "core/base/text.h"
#include "core/base/thread_cpu.h"
#include "core/base/version.h"
#include "core/base/write_signals.h"
#include "core/config/environment.h"
#include "core/config/local_ranks.h"
#include "core/hooks/hooks.h"
#include "core/hooks/parallel_layout.h"
#include "core/hooks/requests.h"
#include "core/record/hash.h"
#include "core/trace/chunk_store.h"
#include "core/trace/liveness.h"
#include "core/trace/run_folder.h"
#include "core/trace/scratch_home.h"
#include "exporters/report/table.h"
#include "mpi_layer/mpi_object.h"
#include "plugin/run/exit_line.h"
#include "plugin/run/leftovers.h"
#include "plugin/run/live.h"
#include "plugin/run/output.h"
#include "plugin/run/test_clock.h"
#include "plugin/tensors/statistics_sink.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace megascope::run {
namespace {

constexpr int kRefusedExitCode = 2;

/// Paths may hold control characters.
void say(const std::string& line) {
  standard_error::write("megascope: " + report::printable(line, line.size()) + "\n");
}

/// As far as the launcher tells before MPI does.
std::string launcher_rank() {
  const std::string rank = config::environment_value("PMIX_RANK");
  return rank.empty() ? std::to_string(launcher_place().rank) : rank;
}
bool is_first_by_launcher() { return launcher_rank() == "0"; }

/// The URL, if only who sits at the terminal reads it. Elsewhere standard error may be a file that
/// others can read: then the URL without the token, and the file that has the token.
std::string shown_address(const std::string& url, const std::string& folder) {
  if (standard_error::is_terminal()) return url;
  const std::string place = url.substr(0, url.find('?'));
  constexpr const char*
      kClosed = ", and standard error is no terminal: nobody can open this run's live view";
  if (folder.empty())
    return place + "; there is no run directory, so that its token is in no file" + kClosed;
  const std::string file = folder + "/live_url";
  if (access(file.c_str(), F_OK) != 0) return place + "; its token is in no file" + kClosed;
  return place + "; the address with its token is in " + file;
}

/// Of the ranks on this node; what goes wrong with its disk goes wrong for all of them.
bool is_first_on_node() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "PMI_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    const std::string rank = config::environment_value(name);
    if (!rank.empty()) return rank == "0";
  }
  return true;
}

}  // namespace

/// False: somebody else begins, or has begun, the recording.
bool Session::claim() {
  const std::lock_guard lock(claim_mutex_);
  return !std::exchange(is_claimed_, true);
}

bool Session::prepare(ItemReader select_functions) {
  if (claim()) return load(select_functions);
  complain(
      "MPI starts after the program's hooks began a recording without it: calls of MPI are not "
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
      say("ended because MEGASCOPE_STRICT=1");
    }
    _exit(kRefusedExitCode);
  }
  if (!options_.values.enable) return false;
  (void)library_folder();  // while nothing can have gone wrong with it
  const bool wants_tsc = options_.values.clock != config::ClockChoice::kMonotonic;
  const bool has_tsc = wants_tsc && clock::tsc_is_usable();
  if (options_.values.clock == config::ClockChoice::kTsc && !has_tsc) {
    options_.problems.push_back(
        "MEGASCOPE_CLOCK=tsc: this machine's TSC is not invariant or not the kernel's clock; "
        "CLOCK_MONOTONIC is used instead");
  }
  use_tsc_ = has_tsc;
  if (!options_.values.test_clock.items.empty()) apply_test_clock();
  own_run_id_ = make_run_id();
  make_talk();
  // Starting MPI takes long enough to tell the rate of ticks well, should there never be another
  // moment.
  const clock::Moment moment = clock::measure_moment(use_tsc_);
  first_moment_ = {moment.ticks, moment.monotonic_ns, moment.realtime_ns};
  return true;
}

void Session::make_talk() {
  const bool has_live = options_.values.live.is_on;
  const bool is_wanted = options_.values.control == config::Control::kOn ||
                         (options_.values.control == config::Control::kAuto &&
                          (has_live || !tensors_.empty()));
  const bool has_steps = has_live || options_.values.trace != config::Granularity::kCalls;
  if (!is_wanted || !has_steps) return;
  if (has_live) capture_ = new tensors::Capture;
  talk_ = new tensors::StepTalk(!tensors_.empty(), options_.values.nan_steps.value, capture_);
}

ControlPlan Session::control_plan() const {
  if (talk_ == nullptr) return {};
  const hooks::StepWindow window = step_window();
  std::uint64_t settings = hash_of(joined(options_.values.tensors.items, "+"));
  for (const std::uint64_t value :
       {window.start, window.interval, window.count, options_.values.nan_steps.value,
        std::uint64_t{capture_ != nullptr}})
    settings = combined(settings, value);
  return {.port = talk_,
          .settings = settings,
          .has_letters = capture_ != nullptr,
          .patience_ns = static_cast<std::uint64_t>(options_.values.step_wait.value * 1e9)};
}

/// All ranks read CLOCK_MONOTONIC then, also those of which the list says nothing.
void Session::apply_test_clock() {
  const TestClocks clocks = read_test_clocks(options_.values.test_clock.items, launcher_rank());
  options_.problems.insert(options_.problems.end(), clocks.problems.begin(), clocks.problems.end());
  clock::set_test_clock(clocks.mine);
  test_clock_ = " test clock of rank " + launcher_rank();
  use_tsc_ = false;
}

std::string Session::clock_domain() const { return clock::domain(use_tsc_) + test_clock_; }

namespace {

/// Does the kernel report how long a thread waited for a core?
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
  info.run_folder = known_run_folder(options_.values);
  info.world = facts.world;
  info.parent_world = facts.parent_world;
  info.is_solo = is_alone_;
  info.thread_level = facts.thread_level;
  info.clock_domain = facts.clock_domain;
  info.clock_samples = facts.clock_samples;
  info.start_ticks = facts.start_ticks;
  info.clock_points = {first_moment_};
  info.cpus = node_cpus();
  info.cpus.has_core_wait = has_core_wait();
  return info;
}

Status Session::open_trace(const ProcessInfo& info) {
  scratch_ = choose_scratch(options_.values);
  Status status = trace::make_scratch_folder(scratch_, run_id_, scratch_folder_);
  trace_path_ = scratch_folder_ + "/" + trace::trace_file_name(info.world_rank);
  RecorderOptions recorder;
  recorder.path = trace_path_;
  recorder.size_bytes = options_.values.buffer_size_bytes;
  recorder.policy = options_.values.buffer_policy;
  recorder.use_tsc = use_tsc_;
  recorder.has_windows = !step_window().has_all();
  recorder.local_ranks = config::local_rank_count(
      config::environment_entries({}), static_cast<std::uint32_t>(std::max(info.world_size, 1)));
  recorder_ = std::make_unique<Recorder>(std::move(recorder));
  status.update(recorder_->open(info));
  return status;
}

Recorder* Session::begin(const StartFacts& facts, const std::vector<RegionDefinition>& regions) {
  const WriteSignalsBlocked blocked;
  facts_ = facts;
  run_id_ = facts.shared_run_id.empty() ? own_run_id_ : facts.shared_run_id;
  is_alone_ = facts.world_size > 1 && facts.shared_run_id.empty() &&
              (facts.is_without_mpi || !is_company_vouched());
  const ProcessInfo info = describe_process(facts);
  const Status status = open_trace(info);
  if (!status.is_ok() && is_first_on_node()) {
    say("rank " + std::to_string(facts.world_rank) +
        " keeps no trace, only sums for the report: " + status.message());
  }
  for (const RegionDefinition& region : regions) recorder_->define(region);
  if (is_first()) {
    for (const std::string& problem : options_.problems) say(problem);
  }
  if (is_first() || is_alone_) make_folder();
  if (is_first()) say_start(facts);
  prepare_exit(status.is_ok());
  open_live(info);
  open_hooks();
  return recorder_.get();
}

/// What is written if the program never calls MPI_Finalize; and, now, what earlier ones have left.
void Session::prepare_exit(bool has_trace) {
  constexpr std::uint64_t kMaxLeftBytes = std::uint64_t{1} << 30;
  if (is_first()) {
    const std::uint64_t left = leftover_bytes(scratch_, scratch_folder_, kMaxLeftBytes);
    if (left > kMaxLeftBytes) {
      say("traces of earlier runs that were cut short take " + human_bytes(left) + " of " +
          scratch_ + " on " + host_name() +
          "; `megascope recover --here` there brings them into their run directories");
    }
  }
  if (facts_.is_without_mpi || !has_trace) return;
  exit_line::set("the program ended without MPI_Finalize; `megascope recover " +
                     (folder_.empty() ? "--here" : shell_quoted(folder_)) +
                     "` makes the traces whole",
                 scratch_folder_);
}

/// On rank 0 the server; on all the part that answers it.
void Session::open_live(const ProcessInfo& info) {
  if (options_.values.live.is_on && capture_ == nullptr && is_first())
    complain("no live view: MEGASCOPE_CONTROL=off keeps ranks from talking at steps");
  if (options_.values.live_compat.is_on && !options_.values.live.is_on && is_first())
    complain("MEGASCOPE_LIVE_COMPAT is passed over: it is served where MEGASCOPE_LIVE is on");
  if (capture_ == nullptr) return;
  if (is_first() && !is_alone_) {
    LiveSettings settings = live_settings(options_.values);
    settings.run_folder = folder_;
    settings.program = info.program;
    settings.command_line = info.command_line;
    settings.run_id = run_id_;
    settings.start_realtime_ns = first_moment_.realtime_ns;
    settings.world_size = info.world_size;
    settings.ranks.push_back(
        {.world_rank = info.world_rank, .host = info.host, .pid = info.pid, .place = {}});
    std::string url;
    const Status status = open_live_view(library_folder(), settings, live_, url);
    say(status.is_ok() ? "live view: " + shown_address(url, folder_)
                       : "no live view: " + status.message());
    if (live_ != nullptr) {
      for (const std::string& note : live_->notes()) say(note);
    }
  }
  talk_->serve(live_);
  capture_->introduce({.pid = info.pid, .host = info.host, .place = {}});
  hooks::set_request_sink(capture_);
}

hooks::StepWindow Session::step_window() const {
  return {options_.values.step_start.value, options_.values.step_interval.value,
          options_.values.step_count.value};
}

void Session::open_hooks() {
  unsigned gate = 0;
  if (options_.values.trace != config::Granularity::kCalls) gate |= hooks::kRegions;
  if (options_.values.trace == config::Granularity::kFull)
    gate |= hooks::kTensors | hooks::kDetails;
  const bool wants_statistics = !tensors_.empty();
  if (wants_statistics && gate == 0)
    complain("MEGASCOPE_TENSORS is passed over: MEGASCOPE_TRACE=calls records calls of MPI only");
  if (options_.values.control == config::Control::kOn && gate == 0) {
    complain(
        "MEGASCOPE_CONTROL=on is passed over: MEGASCOPE_TRACE=calls records calls of MPI only");
  }
  if (gate != 0 && (wants_statistics || capture_ != nullptr)) {
    hooks::set_tensor_sink(new tensors::StatisticsSink(
        tensors_, talk_, capture_));  // for as long as the process lives
  }
  if (gate != 0 && wants_statistics) gate |= hooks::kShows;
  if (options_.values.cpu_time) gate |= hooks::kCpu;
  const hooks::StepWindow window = step_window();
  hooks::open(*recorder_, static_cast<std::uint8_t>(gate), window);
  if (!window.has_all()) recorder_->note_message_gaps();
  std::string problem;
  const std::vector<std::string>& layout = options_.values.parallel.items;
  if (layout.empty()) return;
  for (const ParallelIndex& place :
       hooks::places_in(layout, facts_.world_rank, facts_.world_size, problem))
    recorder_->set_place(place);
  if (!problem.empty()) complain("MEGASCOPE_PARALLEL is passed over: " + problem);
}

void Session::make_folder() {
  const long pid = is_alone_ ? getppid() : getpid();
  std::string wanted = wanted_run_folder(options_.values, host_name(), pid);
  if (is_alone_) wanted += "/solo-" + std::to_string(facts_.world_rank);
  Status status = make_run_folder(wanted, folder_);
  if (!status.is_ok()) folder_.clear();
  folder_inode_ = directory_inode(folder_);
  if (status.is_ok()) {
    status = files::write_file(folder_ + "/" + trace::kRunIdFile,
                               run_id_ + "\n" + scratch_ + "\n" + slurm_nodes() + "\n" +
                                   host_name() + "\n" + scratch_folder_ + "\n",
                               kTextMode);
  }
  if (status.is_ok())
    status = files::write_file(folder_ + "/" + trace::kOptionsFile,
                               config::dump_options_sh(options_), kTextMode);
  if (!status.is_ok()) say(status.message() + "; traces stay in " + scratch_folder_);
}

void Session::say_start(const StartFacts& facts) {
  std::string line = std::string(kVersion) + ", " + std::to_string(facts.world_size) +
                     (facts.world_size == 1 ? " rank" : " ranks");
  const std::string nodes = config::environment_value("SLURM_STEP_NUM_NODES");
  if (!nodes.empty()) line += " on " + nodes + (nodes == "1" ? " node" : " nodes");
  line += ", writes to " + (folder_.empty() ? scratch_folder_ : folder_);
  line += ", up to " + human_bytes(recorder_->bound_bytes()) + " a rank";
  if (trace::is_in_memory(scratch_folder_)) line += " in memory (" + scratch_ + ")";
  if (!options_.values.mpi.items.empty())
    line += ", functions as MEGASCOPE_MPI=" + joined(options_.values.mpi.items, "+") + " says";
  say(line);
  if (!options_.values.verbose || facts.world_size == 1) return;
  say("found out in " + human_duration(static_cast<std::int64_t>(facts.company_ns)) +
      " whether all ranks have the library, and in " +
      human_duration(static_cast<std::int64_t>(facts.clocks_ns)) +
      " how their clocks lie to each other");
}

namespace {

std::vector<std::string> pass_over(const std::vector<std::string>&) { return {}; }
void end_at_exit() { static_cast<Session&>(runtime()).at_exit(); }

}  // namespace

void Session::hook_called() {
  try {
    if (!config::load_options(config::environment_entries()).values.enable) return;
    const bool has_mpi = mpi::find_object_that_defines("PMPI_Init") != nullptr;
    const bool sees_mpi = is_loaded_with_program();
    is_waiting_ = has_mpi && sees_mpi &&
                  !config::load_options(config::environment_entries()).values.without_mpi;
    first_moment_pid_ = getpid();
    (void)std::atexit(&end_at_exit);
    if (is_waiting_ || !claim() || !load(&pass_over)) return;
    begin_without_mpi();
    if (has_mpi && !sees_mpi)
      complain(
          "calls of MPI are not recorded: the library was not preloaded (LD_PRELOAD, megascope "
          "run), but opened for NVTX");
  } catch (const std::bad_alloc&) {
    say("no memory to begin a recording");
  }
}

void Session::begin_without_mpi() {
  StartFacts facts;
  const LauncherPlace place = launcher_place();
  facts.world_rank = place.rank;
  facts.world_size = place.size;
  facts.start_ticks = clock::ticks(use_tsc_);
  facts.clock_domain = clock_domain();
  if (facts.world_size == 1) facts.shared_run_id = own_run_id_;
  facts.is_without_mpi = true;
  facts.is_first_here = facts.world_rank == 0;
  (void)begin(facts, {});
}

void Session::at_exit() {
  if (getpid() != first_moment_pid_) return;  // a forked child
  if (recorder_ != nullptr && facts_.is_without_mpi) {
    end(nullptr,
        {.is_complete = facts_.world_size == 1, .missing = {}, .reason = "it does not start MPI"});
  } else if (recorder_ == nullptr && is_waiting_ && !is_claimed_) {
    complain(
        "nothing was recorded: the program has hooks, and an MPI library that it never started; "
        "MEGASCOPE_WITHOUT_MPI=1 records it nevertheless");
  }
}

void Session::aborting() {
  if (recorder_ != nullptr) recorder_->note_abort();
  close_live(true);
}

void Session::complain(const std::string& message) {
  if (recorder_ != nullptr ? is_first() : is_first_by_launcher()) say(message);
  if (live_ != nullptr)
    show_notice(*live_, facts_.world_rank, message);  // who looks at an empty page reads why
}

}  // namespace megascope::run

namespace megascope {

Runtime& runtime() {
  // Never destroyed: other threads may be in a call when the process ends. Made without any
  // constructor at load time.
  alignas(run::Session) static std::byte storage[sizeof(run::Session)];
  static auto* const session = new (storage) run::Session;
  return *session;
}

}  // namespace megascope
