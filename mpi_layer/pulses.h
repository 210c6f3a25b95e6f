#pragma once

#include <cstdint>

#include "mpi_layer/thread.h"

/// What a thread does now and then, after a recorded call has returned: letters to rank 0 (step_control.h), and readings of its CPU time
/// (core/hooks/cpu_readings.h). The path of each call has one comparison for all of it (MpiThread::next_pulse_ticks).
///
/// Readings come in pairs: when the first call of a period returns, and when the next call begins. Between the two the thread was in the
/// program; from the second to the next return it was in MPI. A second reading costs no instruction of other calls: the first one closes
/// the thread's gates, so that the next call takes the slow way in (enter_slowly), which reads and opens them again.
namespace megascope::mpi {

/// Two readings a period. Longer where they would cost more than their share (hooks::kCpuReadingShare).
inline constexpr std::uint64_t kReadingPeriodNs = 20'000'000;

/// Of a new thread: its first pulse is due at once.
void begin_pulses(MpiThread& thread) noexcept;
/// leave_ticks >= thread.next_pulse_ticks, and the thread is in no call. Sets when the next pulse is due.
void pulse(MpiThread& thread, std::uint64_t leave_ticks) noexcept;
/// In enter_slowly(), where thread.reads_at_entry.
void read_at_entry(MpiThread& thread) noexcept;

/// Carries letters; returns when again, ns from now. nullptr: there are none.
using LetterPulse = std::uint64_t (*)() noexcept;
/// Before open_recording().
void set_letter_pulse(LetterPulse letters) noexcept;
/// They are carried after the thread's next call.
void hasten_letters(MpiThread& thread) noexcept;

}  // namespace megascope::mpi
