#pragma once

#include "core/lifecycle/collective.h"
#include "core/lifecycle/control_port.h"
#include "mpi_layer/step_mail.h"
#include "mpi_layer/thread.h"

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

/// Carries what ranks tell each other at steps (core/lifecycle/control_port.h): one nonblocking
/// reduction a boundary, with an operator of our own on a communicator of our own.
/// docs/decisions/0012-control-word.md.
namespace megascope::mpi {

/// One process's part. The program may begin steps on some ranks only, or on threads that must not
/// call MPI: nobody waits longer than the plan's patience, once.
class StepControl {
 public:
  /// world: all ranks; nullptr: there is only this one. plan.port is set; both outlive the object.
  /// Collective over world, in MPI_Init.
  StepControl(Collective* world, const ControlPlan& plan, int thread_level);

  /// The program begins a step. Any thread, anywhere: where it must not talk it does not.
  void begin_step(std::int64_t step) noexcept;
  /// A recorded call of MPI has returned: letters go on, should the program begin no step for long.
  /// As begin_step(). Returns when again, ns from now.
  std::uint64_t pulse() noexcept;
  /// The same in a hook.
  void pulse_in_hook() noexcept;
  /// In MPI_Finalize, together: what other ranks began is completed, and what is still to be told
  /// is. Afterwards nothing happens.
  void finish() noexcept;

 private:
  /// The right to use all of it, of one thread at a time. Not had where this thread has it already
  /// (MPI called the program back), nor, if it is waited for, once the end has begun.
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
    bool is_heard = false;
  };
  Round& round(std::uint64_t number) { return rounds_[number % rounds_.size()]; }

  bool is_right_thread() const noexcept;
  bool may_talk() const noexcept;
  bool may_begin() noexcept;
  void at_boundary() noexcept;
  void keep_others_going() noexcept;
  bool start(bool is_absent) noexcept;
  bool complete(std::uint64_t number, std::uint64_t patience_ns, std::uint64_t& wait_ns) noexcept;
  bool test(Round& round) noexcept;
  void hear(std::uint64_t number) noexcept;
  bool make_objects(const std::vector<std::size_t>& sizes);
  MPI_Datatype type_of(std::size_t bytes) const noexcept;
  std::optional<std::uint64_t> agree(std::uint64_t mine, bool is_sound, bool is_sum) noexcept;
  void tell_time_in_calls(bool is_boundary) noexcept;
  std::uint64_t carry_letters() noexcept;
  void start_missing(std::uint64_t end) noexcept;
  void finish_mail() noexcept;
  void stop(const char* reason) noexcept;
  void free_objects() noexcept;

  std::mutex mutex_;
  std::atomic<const void*> holder_{nullptr};  ///< a mark of the thread that has the turn
  std::atomic<bool> is_ending_{false};
  std::unique_ptr<Collective> group_;  ///< nullptr: one rank
  Collective* world_;
  ControlPort& port_;
  std::uint64_t patience_ns_;
  int thread_level_;
  pthread_t main_thread_;
  MPI_Op op_;
  std::vector<std::pair<std::size_t, MPI_Datatype>> types_;  ///< of a block, by its bytes
  std::array<Round, 2> rounds_;
  bool has_letters_;  ///< the same on all ranks
  std::optional<StepMail> mail_;
  struct CallTime {
    const MpiThread* thread = nullptr;
    std::uint64_t busy_ticks = 0;
    std::uint64_t ticks = 0;
    std::uint64_t ns = 0;
  };
  CallTime last_;  ///< at the boundary before, of the thread that begins steps; where none does of
                   ///< the main one
  std::uint64_t started_ = 0;  ///< rounds so far
  std::uint64_t obeyed_ = 0;
  bool has_stopped_ = false;     ///< takes no more decisions
  bool is_broken_ = false;       ///< MPI failed in a round
  bool is_mail_broken_ = false;  ///< or with a letter
  bool has_ended_ = false;
  bool has_complained_ = false;  ///< of a thread
};

/// Of this process; nullptr: ranks do not talk at steps. Made in MPI_Init, never destroyed.
extern StepControl* g_step_control;

/// Makes it, where the plan wants it, and follows the program's steps. Collective over world.
void open_step_control(Collective* world, const ControlPlan& plan, int thread_level);

}  // namespace megascope::mpi
