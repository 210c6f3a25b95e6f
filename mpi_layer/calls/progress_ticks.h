#pragma once

#include "mpi_layer/calls/thread.h"

#include <cstdint>

/// Progress ticks. A progress tick is periodic work that a thread does after a recorded call has
/// returned. It progresses rank updates to rank 0 (step_control.h) and reads the thread's CPU time
/// (core/hooks/cpu_readings.h). It costs each call one comparison (MpiThread::next_progress_ticks).
///
/// Readings come in threes: when the first call of a period returns, when the next call begins, and
/// when that call returns. Between the first two the thread was in the application, between the
/// last two in MPI. The second and third reading add no instruction to other calls. The first
/// reading closes the thread's gates, so that the next call takes the slow path. There,
/// enter_slow_path() makes the second reading, opens the gates and makes a tick due, which makes
/// the third.
namespace megascope::mpi {

/// Time between groups of three readings. It is extended if readings would exceed their share of
/// the time (hooks::kCpuReadingShare).
inline constexpr std::uint64_t kReadingPeriodNs = 30'000'000;

/// Initialises a new thread: its first tick is due at once.
void begin_progress_ticks(MpiThread& thread) noexcept;
/// Runs a tick. Precondition: leave_ticks >= thread.next_progress_ticks, and the thread is in no
/// recorded call. Schedules the next tick.
void progress_tick(MpiThread& thread, std::uint64_t leave_ticks) noexcept;
/// Reads the thread's CPU time at the entry of a call. enter_slow_path() calls it if
/// thread.reads_at_entry.
void read_at_entry(MpiThread& thread) noexcept;

/// Returns the ticks of a microsecond; 0 in the first 50 us after the first call, when the rate of
/// the clock cannot be measured.
std::uint64_t ticks_per_us(bool use_tsc) noexcept;

/// A function that progresses rank updates and returns the time until its next call in ns. nullptr
/// if there are no rank updates.
using RankUpdateProgressTick = std::uint64_t (*)() noexcept;
/// Sets the function. Call before open_recording().
void set_rank_update_progress_tick(RankUpdateProgressTick rank_updates) noexcept;
/// Makes rank updates progress after the thread's next call.
void hasten_rank_updates(MpiThread& thread) noexcept;

}  // namespace megascope::mpi
