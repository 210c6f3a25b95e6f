#pragma once

#include "core/lifecycle/collective.h"
#include "core/lifecycle/control_plan.h"
#include "core/lifecycle/rank_mailbox.h"
#include "core/lifecycle/step_reduction.h"
#include "mpi_layer/calls/thread.h"
#include "mpi_layer/own_communication/step_mail.h"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <span>
#include <utility>
#include <vector>

/// Transports the reduction at step boundaries (core/lifecycle/step_reduction.h): one nonblocking
/// reduction for each boundary, with an operator and a communicator of the library.
/// docs/decisions/0012-control-word.md.
namespace megascope::mpi {

/// The step control of one process. If the application begins steps on some ranks only, or on
/// threads that must not call MPI, a rank waits for the others once, for at most plan.timeout_ns.
class StepControl {
 public:
  /// world: group of all ranks; nullptr if there is only this rank. plan.reduction must be set.
  /// world and plan.reduction must outlive the object. Collective over world, in MPI_Init.
  StepControl(Collective* world, const ControlPlan& plan, int thread_level);

  /// Called at a step boundary. Any thread, anywhere; communicates only where MPI may be called.
  void begin_step(std::int64_t step) noexcept;
  /// Called after a recorded MPI call has returned: progresses rank updates if the application
  /// begins no step for a long time. Any thread; communicates only where MPI may be called. Returns
  /// the time until the next tick in ns.
  std::uint64_t progress_tick() noexcept;
  /// Called in a hook: progresses rank updates if the application begins no step for a long time.
  void progress_tick_in_hook() noexcept;
  /// Called on all ranks in MPI_Finalize. Completes the reductions that any rank began, passes
  /// their merged blocks to StepReduction::handle(), the last one being that of the last step, and
  /// delivers the last rank updates. The object is inactive afterwards.
  void finish() noexcept;

 private:
  /// Exclusive access to the object for a scope. A Turn converts to false if access was not
  /// granted: if this thread has a Turn already (MPI called the application back), or if it had to
  /// wait and finish() has begun.
  class Turn {
   public:
    Turn(StepControl& control, bool is_waited_for) noexcept;
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return is_had_; }

   private:
    StepControl& control_;
    bool is_had_ = false;
  };
  struct Round {
    std::vector<std::byte> mine;
    std::vector<std::byte> all;
    MPI_Request request;
    bool is_done = false;
    bool is_received = false;
  };
  Round& round(std::uint64_t number) { return rounds_[number % rounds_.size()]; }

  bool is_right_thread() const noexcept;
  bool may_exchange() const noexcept;
  bool may_begin() noexcept;
  void at_boundary() noexcept;
  void keep_others_going() noexcept;
  bool start(bool is_absent) noexcept;
  bool complete(std::uint64_t number, std::uint64_t timeout_ns, std::uint64_t& wait_ns) noexcept;
  bool test(Round& round) noexcept;
  void handle(std::uint64_t number) noexcept;
  bool make_objects(const std::vector<std::size_t>& sizes);
  MPI_Datatype type_of(std::size_t bytes) const noexcept;
  std::optional<std::uint64_t> agree(std::uint64_t mine, bool is_sound, bool is_sum) noexcept;
  void record_time_in_calls(bool is_boundary) noexcept;
  std::uint64_t carry_rank_updates() noexcept;
  void start_missing(std::uint64_t end) noexcept;
  void finish_mail() noexcept;
  void stop(const char* reason) noexcept;
  void free_objects() noexcept;

  std::mutex mutex_;
  std::atomic<const void*> holder_{nullptr};  ///< identifies the thread that has the Turn
  std::atomic<bool> is_ending_{false};
  std::unique_ptr<Collective>
      group_;  ///< group with the communicator of the reductions; nullptr if there is one rank
  Collective* world_;
  StepReduction& reduction_;
  std::uint64_t timeout_ns_;
  int thread_level_;
  pthread_t main_thread_;
  MPI_Op op_;
  std::vector<std::pair<std::size_t, MPI_Datatype>> types_;  ///< datatypes of a block, by its size
  std::array<Round, 2> rounds_;
  RankMailbox* mailbox_;  ///< nullptr: no rank updates, on all ranks
  std::optional<StepMail> mail_;
  struct CallTime {
    const MpiThread* thread = nullptr;
    std::uint64_t busy_ticks = 0;
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
  };
  CallTime last_;  ///< state at the previous boundary of the thread that begins steps; of the main
                   ///< thread if no thread does
  std::uint64_t started_ = 0;  ///< rounds started
  std::uint64_t applied_ = 0;
  bool has_stopped_ = false;     ///< applies no more decisions
  bool is_broken_ = false;       ///< MPI failed in a round
  bool is_mail_broken_ = false;  ///< MPI failed with a rank update
  bool has_ended_ = false;
  bool has_complained_ = false;  ///< the user was informed that the thread level does not allow
                                 ///< communication
};

/// The StepControl of this process. nullptr if ranks do not communicate at step boundaries. Created
/// in MPI_Init, never destroyed.
extern StepControl* g_step_control;

/// Creates g_step_control if the plan requires it, and has it called at step boundaries. Collective
/// over world.
void open_step_control(Collective* world, const ControlPlan& plan, int thread_level);

}  // namespace megascope::mpi
