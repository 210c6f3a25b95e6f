#include "mpi_layer/calls/progress_ticks.h"

#include "core/base/clock.h"
#include "core/hooks/cpu_readings.h"

#include <algorithm>
#include <atomic>
#include <limits>

namespace megascope::mpi {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

RankUpdateProgressTick g_rank_updates = nullptr;

/// The moment of the first call.
const clock::Moment& origin_of_rate(bool use_tsc) noexcept {
  static const clock::Moment origin = clock::measure_moment(use_tsc);
  return origin;
}

double ticks_per_ns(bool use_tsc, std::uint64_t now_ticks) noexcept {
  const clock::Moment& origin = origin_of_rate(use_tsc);
  const auto ns = static_cast<double>(std::max<std::uint64_t>(
      clock::monotonic_ns() - static_cast<std::uint64_t>(origin.monotonic_ns), 1));
  return now_ticks > origin.ticks ? static_cast<double>(now_ticks - origin.ticks) / ns : 1.0;
}

/// Makes the next call take the slow path (enter_slow_path()).
void close_gates(MpiThread& thread) noexcept {
  for (std::uint8_t& of_interface : thread.gate)
    std::atomic_ref(of_interface).store(0, std::memory_order_relaxed);
}

/// Reads, and returns the ticks until the next reading.
std::uint64_t read_at_return(MpiThread& thread, double ticks_per_ns) noexcept {
  const std::uint64_t cost = hooks::read_cpu();
  thread.reads_at_entry = true;
  close_gates(thread);
  const auto period = static_cast<std::uint64_t>(static_cast<double>(kReadingPeriodNs) *
                                                 ticks_per_ns);
  return std::max(period, 3 * hooks::kCpuReadingShare * cost);
}

}  // namespace

std::uint64_t ticks_per_us(bool use_tsc) noexcept {
  constexpr std::int64_t kMeasuredNs = 50'000;
  const clock::Moment& origin = origin_of_rate(use_tsc);
  const clock::Moment now = clock::measure_moment(use_tsc);
  const std::int64_t time_ns = now.monotonic_ns - origin.monotonic_ns;
  if (time_ns < kMeasuredNs || now.ticks <= origin.ticks) return 0;
  return (now.ticks - origin.ticks) * 1000 / static_cast<std::uint64_t>(time_ns);
}

void begin_progress_ticks(MpiThread& thread) noexcept {
  thread.next_progress_ticks = 0;
  thread.next_rank_update_ticks = g_rank_updates != nullptr ? 0 : kNever;
  thread.next_reading_ticks = hooks::reads_cpu() ? 0 : kNever;
  if (thread.next_rank_update_ticks == kNever && thread.next_reading_ticks == kNever)
    thread.next_progress_ticks = kNever;
}

void progress_tick(MpiThread& thread, std::uint64_t leave_ticks) noexcept {
  const double rate = ticks_per_ns(thread.use_tsc, leave_ticks);
  const bool ends_a_reading = leave_ticks < thread.next_reading_ticks &&
                              leave_ticks <
                                  thread.next_rank_update_ticks;  // a reading of read_at_entry()
  if (ends_a_reading) (void)hooks::read_cpu();
  if (leave_ticks >= thread.next_reading_ticks)
    thread.next_reading_ticks = leave_ticks + read_at_return(thread, rate);
  if (leave_ticks >= thread.next_rank_update_ticks) {
    thread.next_rank_update_ticks = leave_ticks + static_cast<std::uint64_t>(
                                                      static_cast<double>(g_rank_updates()) * rate);
  }
  thread.next_progress_ticks = std::min(thread.next_reading_ticks, thread.next_rank_update_ticks);
}

void read_at_entry(MpiThread& thread) noexcept {
  thread.reads_at_entry = false;
  if (thread.active_frame != 0)
    return;  // MPI itself or a callback makes the call: the reading would be inside a call
  (void)hooks::read_cpu();
  thread.next_progress_ticks = 0;
}

void set_rank_update_progress_tick(RankUpdateProgressTick rank_updates) noexcept {
  g_rank_updates = rank_updates;
}

void hasten_rank_updates(MpiThread& thread) noexcept {
  thread.next_rank_update_ticks = thread.next_progress_ticks = 0;
}

}  // namespace megascope::mpi
