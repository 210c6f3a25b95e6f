#include "mpi_layer/lifecycle/lifecycle.h"

#include "core/base/scarce_memory.h"
#include "core/hooks/cpu_readings.h"
#include "core/lifecycle/runtime.h"
#include "mpi_layer/calls/call_sites.h"
#include "mpi_layer/calls/intercept.h"
#include "mpi_layer/handles/comms.h"
#include "mpi_layer/handles/hash.h"
#include "mpi_layer/lifecycle/other_tool.h"
#include "mpi_layer/lookup/c_symbol.h"
#include "mpi_layer/own_communication/all_ranks.h"
#include "mpi_layer/own_communication/clock_sync.h"
#include "mpi_layer/own_communication/launcher_store.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "mpi_layer/own_communication/own_errors.h"
#include "mpi_layer/own_communication/step_control.h"
#include "mpi_layer/table/regions.h"

#include <limits>
#include <memory>
#include <utility>

namespace megascope::mpi {
namespace {

bool g_has_seen_start = false;
bool g_is_prepared = false;
std::uint64_t g_prepare_ticks = 0;
std::int32_t g_world_rank = 0;
std::int32_t g_world_size = 1;
PeerPresence g_presence;
Collective* g_world = nullptr;  ///< all ranks; until MPI_Finalize. Not destroyed at exit, when MPI
                                ///< may be gone

}  // namespace

std::uint64_t now() noexcept { return clock::ticks(runtime().settings().uses_tsc); }

bool has_seen_start() noexcept { return g_has_seen_start; }

namespace {

/// Reports that memory ran out, if possible. The application runs unrecorded.
void report_no_memory(const char* what) noexcept {
  without_throwing([what] { runtime().complain(what); }, [] {});
}

/// Everything before PMPI_Init. Throws std::bad_alloc before other ranks learn of this process.
void prepare() {
  const std::uint64_t begin = clock::tsc_ticks();
  const Status library = check_mpi_library();
  g_passes_on = !library.is_ok();
  const bool is_wanted = runtime().prepare(&select_functions);
  // Complain before this process is announced: an announced process takes part in everything.
  if (is_wanted && !library.is_ok()) runtime().complain(library.message());
  g_is_prepared = is_wanted && library.is_ok();
  if (const std::string line = g_is_prepared ? other_tool_line() : std::string(); !line.empty())
    runtime().complain(line);
  if (g_is_prepared) announce_presence(runtime().settings().run_id);
  if (runtime().settings().uses_tsc) g_prepare_ticks = clock::tsc_ticks() - begin;
}

}  // namespace

bool before_init() noexcept {
  g_has_seen_start = true;
  if (g_is_prepared) return false;  // a Fortran procedure that calls the C function
  resolve_pmpi();
  without_throwing(&prepare, [] {
    g_is_prepared = false;
    report_no_memory("memory ran out before MPI started: nothing is recorded");
  });
  return g_is_prepared;
}

namespace {

/// Records the call that started MPI as the first call.
void record_start(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept {
  if (!enter_slow_path(interface, kRecords)) return;
  MpiThread* thread = t_thread;
  CallRecord call;
  call.fn = fn;
  call.enter_ticks = enter_ticks;
  write_call(*thread, call, clock::ticks(thread->use_tsc), MPI_SUCCESS);
}

}  // namespace

namespace {

/// Determines whether all ranks have the library, in MPI_Init, which every rank calls.
void find_others() {
  if (g_world_size == 1) {
    g_presence = {.is_complete = true, .missing = {}, .reason = {}};
    return;
  }
  const OwnErrors errors;
  g_presence = query_presence(g_world_rank, g_world_size,
                              runtime().settings().is_presence_asserted);
  if (!g_presence.is_complete) return;
  g_world = make_world_collective().release();
  if (g_world == nullptr)
    g_presence = {
        .is_complete = false, .missing = {}, .reason = "MPI failed to create a communicator"};
}

/// Returns a number that is equal on ranks that intercept the same functions and have the same step
/// settings.
std::uint64_t settings_hash(int thread_level) {
  std::uint64_t hash = 0;
  for (const std::uint8_t bits : g_selected) hash = mix(hash, bits);
  const ControlPlan& plan = runtime().settings().control;
  return mix(hash, plan.reduction == nullptr ? 0 : mix(plan.settings, thread_level == 2 ? 1 : 0));
}

/// Starts communication at step boundaries if all ranks have the library and equal settings.
void find_step_exchange(int thread_level) {
  const ControlPlan& plan = runtime().settings().control;
  const bool is_agreed = g_clock_sync != nullptr ? g_clock_sync->has_same_settings()
                                                 : g_world_size == 1;
  if (is_agreed) return open_step_control(g_world, plan, thread_level);
  if (plan.reduction == nullptr) return;
  runtime().complain(
      "no statistics over all ranks: " +
      std::string(g_world != nullptr
                      ? "ranks have different settings (MEGASCOPE_*) or thread levels"
                      : "not all ranks have the library"));
}

/// Measures the offset of this process's clock to those of the others.
void place_clock(StartFacts& facts) {
  facts.clock_domain = runtime().settings().clock_domain;
  if (g_world == nullptr) return;
  g_clock_sync = new ClockSync(*g_world, runtime().settings().uses_tsc,
                               runtime().settings().sync_interval_s,
                               settings_hash(facts.thread_level));
  facts.clock_domain = g_clock_sync->find_domains(facts.clock_domain);
  ClockSample sample;
  if (g_clock_sync->measure(sample)) facts.clock_samples.push_back(sample);
}

StartFacts start_facts(std::uint64_t enter_ticks) {
  StartFacts facts;
  pmpi<Fn::Query_thread>()(&facts.thread_level);
  facts.thread_level = facts.thread_level == MPI_THREAD_MULTIPLE ? 3 : facts.thread_level;
  facts.world_rank = g_world_rank;
  facts.world_size = g_world_size;
  facts.mpi_library = mpi_library_version();
  facts.world = launcher_store::own_world();
  facts.parent_world = launcher_store::parent_world();
  facts.start_ticks = enter_ticks;
  facts.shared_run_id = g_world_size == 1 ? runtime().settings().run_id : ask_run_id_of_rank_0();
  facts.is_first_here = g_world_rank == 0 ||
                        (facts.shared_run_id.empty() && is_lowest_here(g_world_rank));
  return facts;
}

}  // namespace

namespace {

void start_recording(Interface interface, Fn fn, std::uint64_t enter_ticks) {
  const std::uint64_t begin = now();
  share_entries();
  StartFacts facts = start_facts(enter_ticks);
  const std::uint64_t alone_ns = clock::monotonic_ns();
  find_others();
  const std::uint64_t found_ns = clock::monotonic_ns();
  place_clock(facts);
  find_step_exchange(facts.thread_level);
  facts.presence_ns = found_ns - alone_ns;
  facts.clocks_ns = clock::monotonic_ns() - found_ns;
  if (!g_presence.is_complete && facts.is_first_here) name_missing_ranks(g_world_size, g_presence);
  g_wants_call_sites = runtime().settings().wants_call_sites;
  learn_mpi_code();
  Recorder* recorder = runtime().begin(facts, all_regions());
  if (recorder == nullptr) return;
  open_recording(*recorder, facts.thread_level == 3);
  define_predefined_comms();
  if (g_clock_sync != nullptr)
    find_comm(g_handles.comm_world)->sync_at = g_clock_sync->next_collective();
  if (leaves_out_messages()) recorder->note_message_gaps();
  record_start(interface, fn, enter_ticks);
  recorder->add_overhead(now() - begin + g_prepare_ticks);
}

}  // namespace

void after_init(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept {
  pmpi<Fn::Comm_rank>()(g_handles.comm_world, &g_world_rank);
  pmpi<Fn::Comm_size>()(g_handles.comm_world, &g_world_size);
  // With several ranks, a rank that skipped a collective would block the others for ever.
  if (g_world_size > 1) return start_recording(interface, fn, enter_ticks);
  without_throwing([&] { start_recording(interface, fn, enter_ticks); },
                   [] {
                     close_recording();
                     report_no_memory("memory ran out in MPI_Init: nothing is recorded");
                   });
}

namespace {

/// MPI_Finalize gets its return time when it is entered: what follows is measurement overhead.
void record_end(Interface interface) noexcept {
  if (!enter_slow_path(interface, kRecords)) return;
  MpiThread* thread = t_thread;
  // No call is open when MPI_Finalize is called, so that one that is noted as open was left,
  // wherever its frame was.
  constexpr std::uintptr_t kBeyondAll = std::numeric_limits<std::uintptr_t>::max();
  if (thread->active_frame != 0) (void)nest_slow_path(*thread, {Fn::kNone, kBeyondAll, nullptr});
  CallRecord call;
  call.fn = Fn::Finalize;
  call.enter_ticks = clock::ticks(thread->use_tsc);
  mark_pending(*thread->buffer,
               call);  // otherwise the previous call would seem not to have returned
  write_call(*thread, call, call.enter_ticks, MPI_SUCCESS);
}

/// Ends recording of calls. Other ranks may arrive much later: waiting for them is not application
/// work, and what they send until then is still recorded.
void end_calls(Recorder& active, Interface interface) noexcept {
  (void)hooks::read_cpu();
  const OverheadTimer own(active);
  record_end(interface);
  if (g_step_control != nullptr) g_step_control->finish();
  close_recording();
  ClockSample sample;
  if (g_clock_sync != nullptr && g_clock_sync->measure(sample)) active.add(sample);
}

}  // namespace

void before_finalize(Interface interface) noexcept {
  if (is_forked_child()) return;
  Recorder* const active = recorder();
  if (active != nullptr)
    end_calls(*active, interface);
  else if (g_step_control != nullptr)
    g_step_control->finish();
  if (active != nullptr && g_world_size > 1)
    runtime().end(g_world, g_presence);
  else if (active != nullptr) {
    without_throwing(
        [] { runtime().end(g_world, g_presence); },
        [] { report_no_memory("memory ran out in MPI_Finalize: there is no report"); });
  }
  delete std::exchange(g_clock_sync, nullptr);
  delete std::exchange(g_world, nullptr);
  withdraw_presence();
}

void before_abort() noexcept {
  if (recorder() != nullptr && !is_forked_child()) runtime().aborting();
}

}  // namespace megascope::mpi
