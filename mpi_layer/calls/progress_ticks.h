#pragma once

#include "mpi_layer/calls/thread.h"

#include <cstdint>

/// Progress ticks: periodic work of a thread after a recorded call has returned: rank updates to
/// rank 0 (step_control.h) and readings of its CPU time (core/hooks/cpu_readings.h). Each call has
/// one comparison for it (MpiThread::next_progress_ticks).
///
/// Readings come in threes: when the first call of a period returns, when the next call begins, and
/// when that call returns. Between the first two the thread was in the application, between the
/// last two in MPI. They add no instruction to other calls: the first reading closes the thread's
/// gates, so that the next call takes the slow path (enter_slow_path), which reads, opens the gates
/// and makes a tick due.
namespace megascope::mpi {

/// Period of three readings. Longer if readings would exceed their share (hooks::kCpuReadingShare).
inline constexpr std::uint64_t kReadingPeriodNs = 30'000'000;

/// Initialises a new thread: its first tick is due at once.
void begin_progress_ticks(MpiThread& thread) noexcept;
/// Runs a tick. Precondition: leave_ticks >= thread.next_pulse_ticks, and the thread is in no call.
/// Schedules the next tick.
void progress_tick(MpiThread& thread, std::uint64_t leave_ticks) noexcept;
/// Reads in enter_slow_path() if thread.reads_at_entry.
void read_at_entry(MpiThread& thread) noexcept;

/// Progresses rank updates. Returns the time until the next tick in ns. nullptr: there are none.
using RankUpdateProgressTick = std::uint64_t (*)() noexcept;
/// Sets the function. Call before open_recording().
void set_rank_update_progress_tick(RankUpdateProgressTick rank_updates) noexcept;
/// Makes rank updates progress after the thread's next call.
void hasten_rank_updates(MpiThread& thread) noexcept;

}  // namespace megascope::mpi
