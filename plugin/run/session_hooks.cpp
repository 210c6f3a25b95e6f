#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/own_object.h"
#include "core/base/standard_error.h"
#include "core/base/text.h"
#include "core/config/environment.h"
#include "core/hooks/hooks.h"
#include "core/hooks/parallel_layout.h"
#include "core/hooks/requests.h"
#include "mpi_layer/lookup/mpi_object.h"
#include "plugin/run/live.h"
#include "plugin/run/message.h"
#include "plugin/run/output.h"
#include "plugin/run/session.h"
#include "plugin/tensors/statistics_sink.h"

#include <cstdlib>
#include <new>
#include <unistd.h>

/// The part of a session for the hook API: step exchange, live view, recordings without MPI.
namespace megascope::run {
namespace {

/// The live view's address for standard error. The URL has the access token, so it is complete only
/// on a terminal. Elsewhere standard error may be a file that others can read: the result is then
/// the URL without the token and the name of the file that has it.
std::string shown_address(const std::string& url, const std::string& directory) {
  if (standard_error::is_terminal()) return url;
  const std::string place = url.substr(0, url.find('?'));
  constexpr const char*
      kClosed = ", and standard error is not a terminal: the live view cannot be opened";
  if (directory.empty())
    return place + "; without a run directory, the access token was not saved" + kClosed;
  const std::string file = directory + "/live_url";
  if (access(file.c_str(), F_OK) != 0) return place + "; the access token was not saved" + kClosed;
  return place + "; the address with the access token is in " + file;
}

}  // namespace

void Session::make_exchange() {
  const bool has_live = options_.values.live.is_on;
  const bool is_wanted = options_.values.control == config::Control::kOn ||
                         (options_.values.control == config::Control::kAuto &&
                          (has_live || !tensors_.empty()));
  const bool has_steps = has_live || options_.values.trace != config::Granularity::kCalls;
  if (!is_wanted || !has_steps) return;
  if (has_live) capture_ = new capture::Capture;
  exchange_ = new steps::StepExchange(!tensors_.empty(), options_.values.nan_steps.value, capture_);
}

ControlPlan Session::control_plan() const {
  if (exchange_ == nullptr) return {};
  const hooks::StepWindow window = step_window();
  std::uint64_t settings = hash_of(joined(options_.values.tensors.items, "+"));
  for (const std::uint64_t value :
       {window.start, window.interval, window.count, options_.values.nan_steps.value,
        std::uint64_t{capture_ != nullptr}})
    settings = combined(settings, value);
  return {.reduction = exchange_,
          .mailbox = exchange_->mailbox(),
          .settings = settings,
          .timeout_ns = static_cast<std::uint64_t>(options_.values.step_wait.value * 1e9)};
}

/// Starts the server on rank 0, and capturing on all ranks.
void Session::open_live(const ProcessInfo& info) {
  if (options_.values.live.is_on && capture_ == nullptr && is_first())
    complain("no live view: it needs the step exchange, which MEGASCOPE_CONTROL=off disables");
  if (options_.values.live_compat.is_on && !options_.values.live.is_on && is_first())
    complain("MEGASCOPE_LIVE_COMPAT is ignored: it needs MEGASCOPE_LIVE");
  if (capture_ == nullptr) return;
  if (is_first() && !is_standalone_) {
    LiveSettings settings = live_settings(options_.values);
    settings.run_directory = directory_;
    settings.program = info.program;
    settings.command_line = info.command_line;
    settings.run_id = run_id_;
    settings.start_realtime_ns = first_moment_.realtime_ns;
    settings.world_size = info.world_size;
    settings.ranks.push_back(
        {.world_rank = info.world_rank, .host = info.host, .pid = info.pid, .coordinates = {}});
    std::string url;
    const Status status = open_live_view(library_directory(), settings, live_, url);
    say(status.is_ok() ? "live view: " + shown_address(url, directory_)
                       : "no live view: " + status.message());
    if (live_ != nullptr) {
      for (const std::string& note : live_->notes()) say(note);
    }
  }
  exchange_->serve(live_);
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
    complain("MEGASCOPE_TENSORS is ignored: MEGASCOPE_TRACE=calls records MPI calls only");
  if (options_.values.control == config::Control::kOn && gate == 0) {
    complain("MEGASCOPE_CONTROL=on is ignored: MEGASCOPE_TRACE=calls records MPI calls only");
  }
  if (gate != 0 && (wants_statistics || capture_ != nullptr)) {
    tensors::ShownTensors* const shown = exchange_ != nullptr ? &exchange_->shown_tensors()
                                                              : nullptr;
    hooks::set_tensor_sink(new tensors::StatisticsSink(tensors_, shown, capture_));  // never freed
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
  if (!problem.empty()) complain("MEGASCOPE_PARALLEL is ignored: " + problem);
}

namespace {

std::vector<std::string> pass_over(const std::vector<std::string>&) { return {}; }
void end_at_exit() { static_cast<Session&>(runtime()).at_exit(); }

}  // namespace

void Session::hook_called() {
  try {
    const config::Options options = config::load_options(config::environment_entries()).values;
    if (!options.enable) return;
    const bool has_mpi = mpi::find_object_that_defines("PMPI_Init") != nullptr;
    const bool sees_mpi = is_loaded_with_program();
    is_waiting_ = has_mpi && sees_mpi && !options.without_mpi;
    first_moment_pid_ = getpid();
    (void)std::atexit(&end_at_exit);
    if (is_waiting_ || !claim() || !load(&pass_over)) return;
    begin_without_mpi();
    if (has_mpi && !sees_mpi)
      complain(
          "MPI calls are not recorded: the library was loaded for NVTX, not preloaded (LD_PRELOAD, "
          "megascope "
          "run)");
  } catch (const std::bad_alloc&) {
    say("out of memory: recording is off");
  }
}

void Session::begin_without_mpi() {
  StartFacts facts;
  const LauncherPlace place = launcher_place();
  facts.world_rank = place.rank;
  facts.world_size = place.size;
  facts.start_ticks = clock::ticks(settings_.uses_tsc);
  facts.clock_domain = settings_.clock_domain;
  if (facts.world_size == 1) facts.shared_run_id = settings_.run_id;
  facts.is_without_mpi = true;
  facts.is_first_here = facts.world_rank == 0;
  (void)begin(facts, {});
}

void Session::at_exit() {
  if (getpid() != first_moment_pid_) return;  // a forked child
  if (recorder_ != nullptr && facts_.is_without_mpi) {
    end(nullptr, {.is_complete = facts_.world_size == 1,
                  .missing = {},
                  .reason = "the program does not initialize MPI"});
  } else if (recorder_ == nullptr && is_waiting_ && !is_claimed_) {
    complain(
        "nothing was recorded: the program calls hooks and links MPI but never initialized it; "
        "set MEGASCOPE_WITHOUT_MPI=1 to record it without MPI");
  }
}

}  // namespace megascope::run
