#pragma once

#include <cstdint>
#include <string>
#include <time.h>

namespace megascope::clock {

/// Returns CLOCK_MONOTONIC in ns. Any thread, signal-safe. About 25 ns.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// Returns CLOCK_REALTIME in ns since the epoch.
inline std::int64_t realtime_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Returns the time-stamp counter (TSC) of the processor. Valid as a clock only where
/// tsc_is_usable(). About 9 ns. Not ordered with memory accesses: measure only intervals longer
/// than the processor's reordering window.
inline std::uint64_t tsc_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return monotonic_ns();
#endif
}

/// A clock with known errors, for tests of clock correction. After t ns of CLOCK_MONOTONIC it shows
/// t + drift_ppm * 1e-6 * t + offset_ns, plus a random delay of at most jitter_ns. It never goes
/// back within a thread.
struct TestClock {
  std::int64_t offset_ns = 0;
  double drift_ppm = 0.0;
  std::uint32_t jitter_ns = 0;
};
/// Replaces the monotonic clock of all threads: ticks(false) and measure_moment(false) return the
/// test clock's time. Call before other threads read the clock.
void set_test_clock(const TestClock& clock);
extern bool g_has_test_clock;
std::uint64_t test_clock_ns() noexcept;

/// Returns the time of the chosen clock: TSC ticks, or ns of CLOCK_MONOTONIC (of the test clock if
/// one is set).
inline std::uint64_t ticks(bool use_tsc) noexcept {
  if (use_tsc) return tsc_ticks();
  return g_has_test_clock ? test_clock_ns() : monotonic_ns();
}

/// Returns whether the TSC counts at one rate on all cores: CPUID reports it as invariant and the
/// kernel uses it as its clock source. x86-64 only; false elsewhere.
bool tsc_is_usable();

/// Identifies the clock: processes with equal texts read the same clock. Made of the boot id, the
/// time namespace (monotonic only) and the kind of clock.
std::string domain(bool use_tsc);

/// One moment on three clocks.
struct Moment {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t realtime_ns;
};
/// Reads the three clocks as close together as possible: the tightest of several tries, about 0.1
/// us.
Moment measure_moment(bool use_tsc);

}  // namespace megascope::clock
