#include "core/base/clock.h"

#include "core/base/first_line.h"

#include <algorithm>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace megascope::clock {
namespace {

std::string link_target(const char* path) {
  char target[128];
  const ssize_t size = readlink(path, target, sizeof target);
  return size > 0 ? std::string(target, static_cast<std::size_t>(size)) : std::string();
}

TestClock g_test_clock;
thread_local std::uint64_t t_last_shown_ns = 0;
thread_local std::uint64_t t_random = 0;

/// xorshift64*, per thread.
std::uint64_t random_bits() noexcept {
  if (t_random == 0) t_random = monotonic_ns() | 1;
  t_random ^= t_random >> 12;
  t_random ^= t_random << 25;
  t_random ^= t_random >> 27;
  return t_random * 0x2545F4914F6CDD1DU;
}

}  // namespace

bool g_has_test_clock = false;

void set_test_clock(const TestClock& clock) {
  g_test_clock = clock;
  g_has_test_clock = true;
}

std::uint64_t test_clock_ns() noexcept {
  const auto true_ns = static_cast<std::int64_t>(monotonic_ns());
  const auto drift_ns = static_cast<std::int64_t>(static_cast<double>(true_ns) *
                                                  g_test_clock.drift_ppm * 1e-6);
  auto shown_ns = static_cast<std::uint64_t>(
      std::max<std::int64_t>(true_ns + drift_ns + g_test_clock.offset_ns, 0));
  if (g_test_clock.jitter_ns != 0)
    shown_ns += random_bits() % (std::uint64_t{g_test_clock.jitter_ns} + 1);
  t_last_shown_ns = std::max(t_last_shown_ns, shown_ns);
  return t_last_shown_ns;
}

bool tsc_is_usable() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned kInvariantTscBit = 1U << 8;
  if (__get_cpuid(0x80000007U, &eax, &ebx, &ecx, &edx) == 0) return false;
  const bool is_invariant = (edx & kInvariantTscBit) != 0;
  const std::string source = first_line(
      "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return is_invariant && source == "tsc";
#else
  return false;
#endif
}

std::string domain(bool use_tsc) {
  // Time namespaces shift CLOCK_MONOTONIC, not the TSC.
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  return use_tsc ? boot + " tsc" : boot + " monotonic " + link_target("/proc/self/ns/time");
}

Moment measure_moment(bool use_tsc) {
  constexpr int kTries = 20;
  Moment best{};
  std::uint64_t best_width = ~std::uint64_t{0};
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t before = ticks(use_tsc);
    const std::uint64_t monotonic = monotonic_ns();
    const std::int64_t realtime = realtime_ns();
    const std::uint64_t after = ticks(use_tsc);
    if (after - before >= best_width) continue;
    best_width = after - before;
    best = {before + best_width / 2, static_cast<std::int64_t>(monotonic), realtime};
  }
  if (use_tsc) return best;
  // A test clock shifts the real time as well, as the clock of a wrong node would.
  best.realtime_ns += static_cast<std::int64_t>(best.ticks) - best.monotonic_ns;
  best.monotonic_ns = static_cast<std::int64_t>(best.ticks);
  return best;
}

}  // namespace megascope::clock
