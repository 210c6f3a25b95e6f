#pragma once

#include <cstdint>
#include <string>
#include <time.h>

namespace megascope::clock {

/// CLOCK_MONOTONIC in ns. Any thread, signal-safe. About 25 ns.
inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

/// CLOCK_REALTIME in ns since the epoch.
inline std::int64_t realtime_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// The processor's cycle-independent counter; about 9 ns. Only where `tsc_is_usable`. Not ordered
/// with memory accesses: a span of interest is longer than the reordering window.
inline std::uint64_t tsc_ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return monotonic_ns();
#endif
}

/// A clock that is wrong on purpose, to test what corrects it: shows t + drift_ppm * 1e-6 * t +
/// offset_ns for t ns of CLOCK_MONOTONIC, up to jitter_ns late, never earlier than it showed to the
/// same thread before.
struct TestClock {
  std::int64_t offset_ns = 0;
  double drift_ppm = 0.0;
  std::uint32_t jitter_ns = 0;
};
/// From now on every thread's ticks(false), and what measure_moment(false) says, are this clock's.
/// Before other threads read.
void set_test_clock(const TestClock& clock);
extern bool g_has_test_clock;
std::uint64_t test_clock_ns() noexcept;

/// Ticks of the chosen clock: TSC ticks, or ns of CLOCK_MONOTONIC.
inline std::uint64_t ticks(bool use_tsc) noexcept {
  if (use_tsc) return tsc_ticks();
  return g_has_test_clock ? test_clock_ns() : monotonic_ns();
}

/// The TSC counts at one rate on all cores: CPUID says invariant and the kernel itself uses it as
/// its clock source.
bool tsc_is_usable();

/// Equal for processes whose clocks of this kind show the same time: boot id, time namespace and
/// kind.
std::string domain(bool use_tsc);

/// The same moment on three clocks: {ticks, monotonic, realtime}; the tightest of several tries
/// (~0.1 µs apart).
struct Moment {
  std::uint64_t ticks;
  std::int64_t monotonic_ns;
  std::int64_t realtime_ns;
};
Moment measure_moment(bool use_tsc);

}  // namespace megascope::clock
