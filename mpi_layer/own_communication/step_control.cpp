#include "mpi_layer/own_communication/step_control.h"

#include "core/base/clock.h"
#include "core/base/no_cancel.h"
#include "core/base/scarce_memory.h"
#include "core/hooks/hooks.h"
#include "core/hooks/requests.h"
#include "core/lifecycle/runtime.h"
#include "mpi_layer/calls/progress_ticks.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"
#include "mpi_layer/own_communication/mpi_collective.h"
#include "mpi_layer/own_communication/own_errors.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <sched.h>

namespace megascope::mpi {

StepControl* g_step_control = nullptr;

namespace {

StepReduction* g_reduction = nullptr;  ///< for the operator, which MPI calls without context
constexpr std::uint64_t kBusyWaitNs = 20'000;  // afterwards another thread may need the core
constexpr std::uint64_t kForEver = 0;
constexpr std::uint64_t kLag = 2;  // boundaries until a block takes effect
/// Minimum timeout while other ranks rely on this rank's acknowledgement.
constexpr std::uint64_t kAcknowledgedNs = 60'000'000'000;
thread_local char t_mark = 0;  // its address identifies the thread

/// The MPI operator. Each element is a whole block, so that MPI cannot divide one.
void merge_elements(void* theirs, void* mine, int* count, MPI_Datatype*) noexcept {
  if (*count == 1)
    g_reduction->merge(static_cast<const std::byte*>(theirs), static_cast<std::byte*>(mine));
}

void follow_step(std::int64_t step) noexcept { g_step_control->begin_step(step); }

std::uint64_t carry_rank_updates_of_progress_tick() noexcept {
  return g_step_control->progress_tick();
}

void complain(const char* what, const char* reason = "") noexcept {
  without_throwing([&] { runtime().complain(std::string(what) + reason); },
                   [] {});  // not reported if memory runs out
}

/// Sends an answer soon, if MPI may be called in a hook.
void follow_reply() noexcept { g_step_control->progress_tick_in_hook(); }

}  // namespace

StepControl::Turn::Turn(StepControl& control, bool is_waited_for) noexcept : control_(control) {
  if (control.holder_.load(std::memory_order_relaxed) == &t_mark) return;
  while (!control.mutex_.try_lock()) {
    if (!is_waited_for || control.is_ending_.load(std::memory_order_relaxed)) return;
    sched_yield();
  }
  control.holder_.store(&t_mark, std::memory_order_relaxed);
  is_had_ = true;
}

StepControl::Turn::~Turn() {
  if (!is_had_) return;
  control_.holder_.store(nullptr, std::memory_order_relaxed);
  control_.mutex_.unlock();
}

StepControl::StepControl(Collective* world, const ControlPlan& plan, int thread_level)
    : world_(world),
      reduction_(*plan.reduction),
      timeout_ns_(std::max<std::uint64_t>(plan.timeout_ns, 1)),
      thread_level_(thread_level),
      main_thread_(pthread_self()),
      op_{},
      mailbox_(plan.mailbox) {
  g_reduction = plan.reduction;
  for (Round& round : rounds_) round.request = g_handles.request_null;
  const std::vector<std::size_t> sizes = reduction_.block_sizes(world == nullptr ? 1
                                                                                 : world->size());
  if (world == nullptr && mailbox_ != nullptr) mail_.emplace(*mailbox_, g_handles.comm_world, true);
  if (world == nullptr) return;
  const Status split = world->split(0, world->rank(), group_);
  is_broken_ = !split.is_ok() || !make_objects(sizes);
  if (is_broken_)
    stop("MPI failed to create a communicator, operator or datatype");
  else if (mailbox_ != nullptr)
    mail_.emplace(*mailbox_, own_comm(*group_), false);
}

/// Creates all MPI objects that are ever needed: errors in later calls would reach the
/// application's error handler.
bool StepControl::make_objects(const std::vector<std::size_t>& sizes) {
  const OwnErrors errors;
  if (pmpi<Fn::Op_create>()(&merge_elements, 1, &op_) != MPI_SUCCESS) return false;
  for (const std::size_t bytes : sizes) {
    MPI_Datatype& type = types_.emplace_back(bytes, g_handles.datatype_null).second;
    if (pmpi<Fn::Type_contiguous>()(static_cast<int>(bytes), g_handles.byte, &type) != MPI_SUCCESS)
      return false;
    if (pmpi<Fn::Type_commit>()(&type) != MPI_SUCCESS) return false;
  }
  return true;
}

/// At MPI_THREAD_SERIALIZED another thread may be in MPI now.
bool StepControl::is_right_thread() const noexcept {
  return thread_level_ == 3 ||
         (thread_level_ < 2 && pthread_equal(pthread_self(), main_thread_) != 0);
}

/// Returns whether MPI may be called: not inside of an MPI call.
bool StepControl::may_exchange() const noexcept {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const std::uintptr_t call = t_thread->active_frame;  // stale after a call that was left: it is
                                                       // then below this frame
  return is_right_thread() && (call == 0 || call < here);
}

bool StepControl::may_begin() noexcept {
  if (!is_right_thread() && !std::exchange(has_complained_, true)) {
    complain(thread_level_ == 2 ? "no statistics over all ranks: at MPI_THREAD_SERIALIZED the "
                                  "beginning of a step may not call MPI"
                                : "no statistics over all ranks for steps that begin on a "
                                  "thread that may not call MPI");
  }
  return may_exchange();
}

void StepControl::begin_step(std::int64_t step) noexcept {
  if (is_forked_child()) return;
  const NoCancel no_cancel;
  const Turn turn(*this, true);  // waits: a tick of another thread is short, and a skipped boundary
                                 // could not be repeated
  if (!turn || has_ended_ || !may_begin() || (!has_stopped_ && !reduction_.begin(step))) return;
  std::optional<OverheadTimer> overhead;
  if (Recorder* const active = recorder()) overhead.emplace(*active);
  if (has_stopped_)
    keep_others_going();
  else
    at_boundary();
}

void StepControl::record_time_in_calls(bool is_boundary) noexcept {
  Recorder* const active = recorder();
  const bool is_timed = is_boundary ||
                        (last_.thread == nullptr ? pthread_equal(pthread_self(), main_thread_) != 0
                                                 : last_.thread == t_thread);
  if (active == nullptr || !is_timed) return;
  const CallTime now{t_thread, t_thread->busy_ticks, active->ticks(), clock::monotonic_ns()};
  if (last_.thread == now.thread && now.ticks > last_.ticks) {
    const double ns_per_tick = static_cast<double>(now.ns - last_.ns) /
                               static_cast<double>(now.ticks - last_.ticks);
    reduction_.add_call_time(static_cast<std::uint64_t>(
        static_cast<double>(now.busy_ticks - last_.busy_ticks) * ns_per_tick));
  }
  last_ = now;
}

/// Unlike at a step boundary, the thread has just left an MPI call of the application:
/// MPI_THREAD_SERIALIZED allows MPI calls here.
std::uint64_t StepControl::progress_tick() noexcept {
  constexpr std::uint64_t kLaterNs = 250'000'000;
  const bool may_call = thread_level_ >= 2 || pthread_equal(pthread_self(), main_thread_) != 0;
  if (is_forked_child() || !may_call) return kLaterNs;
  const NoCancel no_cancel;
  const Turn turn(*this, false);
  return turn ? carry_rank_updates() : kLaterNs;
}

void StepControl::progress_tick_in_hook() noexcept {
  if (is_forked_child()) return;
  const NoCancel no_cancel;
  const Turn turn(*this, false);
  if (turn && may_exchange()) (void)carry_rank_updates();
}

/// Progresses rank updates where MPI may be called. Returns the time until the next tick.
std::uint64_t StepControl::carry_rank_updates() noexcept {
  if (has_ended_ || is_mail_broken_ || !mail_) return 1'000'000'000;
  std::optional<OverheadTimer> overhead;
  if (Recorder* const active = recorder()) overhead.emplace(*active);
  record_time_in_calls(false);
  const std::uint64_t next_ns = mailbox_->progress_tick();
  is_mail_broken_ = !mail_->progress();
  return next_ns;
}

void StepControl::at_boundary() noexcept {
  const std::uint64_t begin_ns = clock::monotonic_ns();
  record_time_in_calls(true);
  std::uint64_t wait_ns = 0;
  if (started_ >= kLag) {
    const std::uint64_t due = started_ - kLag;
    const std::uint64_t min_ns = reduction_.has_acknowledged() ? kAcknowledgedNs : 0;
    if (!complete(due, std::max(timeout_ns_, min_ns), wait_ns)) {
      return stop(is_broken_ ? "MPI failed"
                             : "other ranks did not begin the step in time (MEGASCOPE_STEP_WAIT)");
    }
    handle(due);
    reduction_.apply(round(due).all);
    ++applied_;
  }
  if (started_ >= 1 && test(round(started_ - 1))) handle(started_ - 1);
  if (is_broken_ || !start(false)) return stop("MPI failed, or memory ran out");
  if (mail_ && !is_mail_broken_) is_mail_broken_ = !mail_->progress();
  if (mail_ && t_thread->is_initialized)
    hasten_rank_updates(*t_thread);  // progress soon: a client waits for an answer
  (void)test(round(started_ - 1));   // lets MPI progress
  reduction_.add_overhead(clock::monotonic_ns() - begin_ns, wait_ns);
}

/// Contributes to the rounds of other ranks after this rank has stopped deciding. Waits for none.
/// The size of a block follows from blocks applied before, so that no round is applied before the
/// next but one has started.
void StepControl::keep_others_going() noexcept {
  if (is_broken_) return;
  if (started_ - applied_ >= kLag && test(round(applied_))) {
    handle(applied_);
    reduction_.apply(round(applied_).all);
    ++applied_;
  }
  if (!is_broken_ && started_ - applied_ < kLag) (void)start(true);
  if (mail_ && !is_mail_broken_) is_mail_broken_ = !mail_->progress();
}

/// Starts the next round. The round in its place has been applied.
bool StepControl::start(bool is_absent) noexcept {
  Round& next = round(started_);
  try {
    next.mine.resize(reduction_.block_bytes());
    next.all.resize(next.mine.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (is_absent)
    reduction_.fill_absent(next.mine);
  else
    reduction_.fill(next.mine);
  next.is_received = false;
  next.is_done = group_ == nullptr;
  if (next.is_done)
    std::ranges::copy(next.mine, next.all.begin());
  else
    is_broken_ = pmpi<Fn::Iallreduce>()(next.mine.data(), next.all.data(), 1,
                                        type_of(next.mine.size()), op_, own_comm(*group_),
                                        &next.request) != MPI_SUCCESS;
  if (!is_broken_) ++started_;
  return !is_broken_;
}

MPI_Datatype StepControl::type_of(std::size_t bytes) const noexcept {
  const auto found = std::ranges::find(types_, bytes, &std::pair<std::size_t, MPI_Datatype>::first);
  return found != types_.end() ? found->second
                               : g_handles.datatype_null;  // makes the reduction fail
}

bool StepControl::test(Round& round) noexcept {
  if (round.is_done || is_broken_) return round.is_done;
  int is_done = 0;
  is_broken_ = pmpi<Fn::Test>()(&round.request, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  round.is_done = !is_broken_ && is_done != 0;
  return round.is_done;
}

/// Completes a round. Returns false if it is not complete within timeout_ns or MPI failed.
bool StepControl::complete(std::uint64_t number, std::uint64_t timeout_ns,
                           std::uint64_t& wait_ns) noexcept {
  Round& due = round(number);
  if (test(due)) return true;
  const std::uint64_t begin_ns = clock::monotonic_ns();
  while (!test(due) && !is_broken_) {
    wait_ns = clock::monotonic_ns() - begin_ns;
    if (timeout_ns != kForEver && wait_ns > timeout_ns) return false;
    if (wait_ns > kBusyWaitNs) sched_yield();
  }
  wait_ns = clock::monotonic_ns() - begin_ns;
  return due.is_done;
}

void StepControl::handle(std::uint64_t number) noexcept {
  if (!std::exchange(round(number).is_received, true)) reduction_.handle(round(number).all);
}

void StepControl::stop(const char* reason) noexcept {
  has_stopped_ = true;
  reduction_.stop(reason);
  complain("no more statistics over all ranks and no more decisions: ", reason);
}

/// Returns the maximum or the sum of all ranks' numbers; nullopt if a rank reports a failure, and
/// then no rank continues.
std::optional<std::uint64_t> StepControl::agree(std::uint64_t mine, bool is_sound,
                                                bool is_sum) noexcept {
  using Reported = std::array<std::uint64_t, 2>;
  Reported said{mine, is_sound ? 0U : 1U};
  if (world_ != nullptr) {
    Collective::Bytes bytes(sizeof said);
    std::memcpy(bytes.data(), said.data(), sizeof said);
    const Status status = world_->merge_all(
        bytes, [is_sum](Collective::Bytes& all, std::span<const std::byte> theirs) {
          Reported a{};
          Reported b{};
          if (theirs.size() != sizeof b) return;
          std::memcpy(a.data(), all.data(), sizeof a);
          std::memcpy(b.data(), theirs.data(), sizeof b);
          a = {is_sum ? a[0] + b[0] : std::max(a[0], b[0]), a[1] | b[1]};
          std::memcpy(all.data(), a.data(), sizeof a);
        });
    if (!status.is_ok() || bytes.size() != sizeof said) return std::nullopt;
    std::memcpy(said.data(), bytes.data(), sizeof said);
  }
  return said[1] != 0 ? std::nullopt : std::optional(said[0]);
}

/// Starts and completes the rounds up to `end`. All ranks take part: no timeout.
void StepControl::start_missing(std::uint64_t end) noexcept {
  std::uint64_t wait_ns = 0;
  bool is_last_recorded = has_stopped_;
  while (started_ < end || applied_ < started_) {
    const bool is_behind = started_ < end && started_ - applied_ < kLag;
    if (is_behind) {
      if (!start(is_last_recorded)) return;
      is_last_recorded = true;
      continue;
    }
    if (!complete(applied_, kForEver, wait_ns)) return;
    handle(applied_);
    reduction_.apply(round(applied_).all);
    ++applied_;
  }
}

/// Delivers the last rank updates. Every rank starts to send its last one before the number is
/// agreed on, so that rank 0 waits for none that could not be sent. Rank 0 has received all, or
/// given up, before a rank waits for its own. All ranks agree twice, also if the first one failed;
/// a rank on which MPI fails in agree() itself may leave others there.
void StepControl::finish_mail() noexcept {
  if (mailbox_ == nullptr) return;
  const bool is_sound = mail_ && !is_mail_broken_ && mail_->send_last();
  const std::optional<std::uint64_t> rank_updates = agree(mail_ ? mail_->sent_count() : 0, is_sound,
                                                          true);
  const bool has_taken = rank_updates && mail_->receive_all(*rank_updates);
  const bool is_all_taken = agree(0, has_taken, false).has_value();
  is_mail_broken_ = !is_all_taken || !mail_->wait_all_sent();
}

void StepControl::finish() noexcept {
  is_ending_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  if (std::exchange(has_ended_, true)) return;
  hooks::set_step_follower(nullptr);
  hooks::set_reply_follower(nullptr);
  const NoCancel no_cancel;
  const bool is_last_due = started_ != 0 &&
                           !has_stopped_;  // of the last step, which has no successor
  const std::optional<std::uint64_t> end = agree(started_ + (is_last_due ? 1 : 0), !is_broken_,
                                                 false);
  if (end) start_missing(*end);
  finish_mail();
  if (end) free_objects();
}

void StepControl::free_objects() noexcept {
  if (group_ == nullptr || is_broken_) return;
  const OwnErrors errors;
  for (auto& [bytes, type] : types_) pmpi<Fn::Type_free>()(&type);
  pmpi<Fn::Op_free>()(&op_);
  group_.reset();
}

void open_step_control(Collective* world, const ControlPlan& plan, int thread_level) {
  if (plan.reduction == nullptr) return;
  g_step_control = new StepControl(world, plan, thread_level);
  hooks::set_step_follower(&follow_step);
  if (plan.mailbox == nullptr) return;
  set_rank_update_progress_tick(&carry_rank_updates_of_progress_tick);
  hooks::set_reply_follower(&follow_reply);
}

}  // namespace megascope::mpi
