#pragma once

#include "mpi_layer/thread.h"

#include <cstdint>

/// What a thread does now and then, after a recorded call has returned: letters to rank 0
/// (step_control.h), and readings of its CPU time (core/hooks/cpu_readings.h). The path of each
/// call has one comparison for all of it (MpiThread::next_pulse_ticks).
///
/// Readings come in threes: when the first call of a period returns, when the next call begins, and
/// when that call returns. Between the first two the thread was in the program, between the last
/// two in MPI. None costs an instruction of other calls: the first one closes the thread's gates,
/// so that the next call takes the slow way in (enter_slowly), which reads, opens them again, and
/// makes a pulse due.
namespace megascope::mpi {

/// Three readings a period. Longer where they would cost more than their share
/// (hooks::kCpuReadingShare).
inline constexpr std::uint64_t kReadingPeriodNs = 30'000'000;

/// Of a new thread: its first pulse is due at once.
void begin_pulses(MpiThread& thread) noexcept;
/// leave_ticks >= thread.next_pulse_ticks, and the thread is in no call. Sets when the next pulse
/// is due.
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
