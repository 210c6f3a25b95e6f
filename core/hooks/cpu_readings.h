#pragma once

#include "core/record/cpu_reading.h"

#include <cstdint>

/// CPU time, wait for a processor and involuntary context switches of the recording threads, as
/// records in their hook streams (core/record/cpu_reading.h). Each thread reads its own. Nothing
/// happens in processes that do not record, in forked children, or if hooks::open() did not get
/// kCpu. A thread's first reading allocates and opens a file; the others do not. Not signal-safe.
namespace megascope::hooks {

/// Readings at step boundaries take at most 1 / kCpuReadingShare of the time, and so do readings at
/// progress ticks; together at most 0.05 %.
inline constexpr std::uint64_t kCpuReadingShare = 4000;

/// Reads the calling thread's CPU time and records it. Returns the cost of the reading in ticks of
/// the recorder's clock; 0 if nothing was read.
std::uint64_t read_cpu() noexcept;
/// Reads and records the calling thread's CPU time at a step boundary. Does nothing if the last
/// reading at a boundary is so recent that readings would exceed their share of the time.
void read_cpu_at_boundary() noexcept;

/// Returns whether recording threads read their CPU time.
bool reads_cpu() noexcept;

/// Returns the sums over all threads of the process so far. Any thread.
CpuTotals cpu_totals() noexcept;

/// Prepares readings. Called once, when recording starts.
void prepare_cpu_readings() noexcept;

}  // namespace megascope::hooks
