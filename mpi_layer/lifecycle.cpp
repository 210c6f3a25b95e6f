#include "mpi_layer/lifecycle.h"

#include <memory>

#include "core/lifecycle/runtime.h"
#include "mpi_layer/all_ranks.h"
#include "mpi_layer/board.h"
#include "mpi_layer/c_symbol.h"
#include "mpi_layer/call_sites.h"
#include "mpi_layer/comms.h"
#include "mpi_layer/intercept.h"
#include "mpi_layer/mpi_collective.h"
#include "mpi_layer/other_tool.h"
#include "mpi_layer/regions.h"

namespace megascope::mpi {
namespace {

bool g_has_seen_start = false;
bool g_is_prepared = false;
std::uint64_t g_prepare_ticks = 0;
std::int32_t g_world_rank = 0;
std::int32_t g_world_size = 1;

}  // namespace

std::uint64_t now() noexcept { return clock::ticks(runtime().uses_tsc()); }

bool has_seen_start() noexcept { return g_has_seen_start; }

bool before_init() noexcept {
  g_has_seen_start = true;
  if (g_is_prepared) return false;  // a Fortran procedure that calls the C function
  const std::uint64_t begin = clock::tsc_ticks();
  resolve_twins();
  const Status library = check_mpi_library();
  g_passes_on = !library.is_ok();
  const bool is_wanted = runtime().prepare(&select_functions);
  // Before the others hear that we are here: who is announced takes part in everything.
  if (is_wanted && !library.is_ok()) runtime().complain(library.message());
  g_is_prepared = is_wanted && library.is_ok();
  if (const std::string line = g_is_prepared ? other_tool_line() : std::string(); !line.empty()) runtime().complain(line);
  if (g_is_prepared) announce_presence(runtime().own_run_id());
  if (runtime().uses_tsc()) g_prepare_ticks = clock::tsc_ticks() - begin;
  return g_is_prepared;
}

namespace {

/// The call that started MPI is the first that is recorded.
void record_start(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept {
  if (!enter_slowly(interface, kRecords)) return;
  MpiThread* thread = t_thread;
  CallRecord call;
  call.fn = fn;
  call.enter_ticks = enter_ticks;
  write_call(*thread, call, clock::ticks(thread->use_tsc), MPI_SUCCESS);
}

}  // namespace

void after_init(Interface interface, Fn fn, std::uint64_t enter_ticks) noexcept {
  const std::uint64_t begin = now();
  share_notices();
  StartFacts facts;
  twin<Fn::Comm_rank>()(g_handles.comm_world, &g_world_rank);
  twin<Fn::Comm_size>()(g_handles.comm_world, &g_world_size);
  twin<Fn::Query_thread>()(&facts.thread_level);
  facts.world_rank = g_world_rank;
  facts.world_size = g_world_size;
  facts.mpi_library = mpi_library_version();
  facts.world = board::own_world();
  facts.parent_world = board::parent_world();
  facts.start_ticks = enter_ticks;
  if (g_world_rank == 0 && g_world_size > 1) judge_company(g_world_size);
  facts.shared_run_id = g_world_size == 1 ? runtime().own_run_id() : ask_run_id_of_rank_0();
  facts.is_first_here = g_world_rank == 0 || (facts.shared_run_id.empty() && is_lowest_here(g_world_rank));
  facts.thread_level = facts.thread_level == MPI_THREAD_MULTIPLE ? 3 : facts.thread_level;
  g_wants_call_sites = runtime().wants_call_sites();
  learn_mpi_code();
  Recorder* recorder = runtime().begin(facts, all_regions());
  if (recorder == nullptr) return;
  open_recording(*recorder, facts.thread_level == 3);
  define_predefined_comms();
  if (leaves_out_messages()) recorder->note_message_gaps();
  record_start(interface, fn, enter_ticks);
  recorder->add_overhead(now() - begin + g_prepare_ticks);
}

namespace {

/// Keeps the program's own pending traffic going while we wait for something that is not MPI's.
void make_progress() {
  int flag = 0;
  twin<Fn::Iprobe>()(MPI_ANY_SOURCE, MPI_ANY_TAG, g_handles.comm_self, &flag, MPI_STATUS_IGNORE);
}

Company find_company() {
  if (g_world_size == 1 || runtime().is_company_vouched()) return {.is_complete = true, .missing = {}, .reason = {}};
  return ask_company(g_world_size, &make_progress);
}

/// MPI_Finalize gets its leave when it is entered: what follows is ours.
void record_end(Interface interface) noexcept {
  if (!enter_slowly(interface, kRecords)) return;
  MpiThread* thread = t_thread;
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (thread->active_frame != 0) (void)nest_slowly(*thread, {Fn::kNone, frame, nullptr});  // a call that was left
  CallRecord call;
  call.fn = Fn::Finalize;
  call.enter_ticks = clock::ticks(thread->use_tsc);
  mark_pending(*thread->buffer, call);  // else that of the call before would seem not to have returned
  write_call(*thread, call, call.enter_ticks, MPI_SUCCESS);
}

}  // namespace

void before_finalize(Interface interface) noexcept {
  if (is_forked_child()) return;
  if (Recorder* active = recorder()) {
    const std::uint64_t begin = now();
    record_end(interface);
    close_recording();
    const Company company = find_company();
    // Alone no MPI is needed, and a program whose thread was cancelled in a call may no longer be able to.
    const bool has_others = company.is_complete && g_world_size > 1;
    const std::unique_ptr<Collective> collective = has_others ? make_world_collective() : nullptr;
    active->add_overhead(now() - begin);
    runtime().end(collective.get(), company);
  }
  leave_company();
}

void before_abort() noexcept {
  if (recorder() != nullptr && !is_forked_child()) runtime().aborting();
}

}  // namespace megascope::mpi
