#pragma once

#include "core/record/cpu_reading.h"

#include <cstdint>

/// CPU time, wait for a core and involuntary context switches of the threads that record, as
/// records of the thread's hook stream (core/record/cpu_reading.h). Each thread reads its own.
/// Nothing happens in threads of a process that does not record, in a forked child, and where
/// hooks::open() got no kCpu. A thread's first reading allocates and opens its file; all others do
/// not. Never from a signal handler.
namespace megascope::hooks {

/// Of the time between two readings of one kind, a reading takes at most one part of this many:
/// both kinds together, 0.05 %.
inline constexpr std::uint64_t kCpuReadingShare = 4000;

/// The calling thread reads now. Returns the cost of a reading, in ticks of the recorder's clock;
/// 0: nothing was read.
std::uint64_t read_cpu() noexcept;
/// A step begins or ends: the same, unless the last reading of this kind is so recent that readings
/// would cost more than their share. Steps that are shorter share a reading.
void read_cpu_at_boundary() noexcept;

/// Do threads that record read their CPU time?
bool reads_cpu() noexcept;

/// Of all threads of the process so far. Any thread.
CpuTotals cpu_totals() noexcept;

/// Once, when recording begins.
void prepare_cpu_readings() noexcept;

}  // namespace megascope::hooks
