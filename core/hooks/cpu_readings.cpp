#include "core/hooks/cpu_readings.h"

#include "core/base/errno_kept.h"
#include "core/buffer/recorder.h"
#include "core/hooks/hook_thread.h"
#include "core/hooks/hooks.h"

#include <atomic>
#include <optional>
#include <pthread.h>
#include <sched.h>

namespace megascope::hooks {
namespace {

constexpr std::size_t kMaxCounters = 4;
constexpr std::size_t kMaxWords = kMaxCounters * hook_words::kCounterWords;

struct Totals {
  std::atomic<std::uint64_t> cpu_ns{0};
  std::atomic<std::uint64_t> wait_ns{0};
  std::atomic<std::uint64_t> switches{0};
  std::atomic<std::uint64_t> readings{0};
  std::atomic<bool> has_wait{false};
};
constinit Totals g_totals;

pthread_key_t g_key;
constinit std::atomic<bool> g_has_key{false};

/// Marks the thread's readings as ended. Hooks that the application's later destructors call are
/// not read.
void on_thread_exit(void* ended) {
  auto* const thread = static_cast<HookThread*>(ended);
  if (is_forked_child()) return;
  (void)read_cpu();
  thread->cpu.reader.close();
}

void add_to_totals(const ThreadCpu& last, const ThreadCpu& now) noexcept {
  const auto add = [](std::atomic<std::uint64_t>& sum, std::uint64_t before, std::uint64_t after) {
    const bool is_known = before != ThreadCpu::kUnknown && after != ThreadCpu::kUnknown &&
                          after >= before;
    if (is_known) sum.fetch_add(after - before, std::memory_order_relaxed);
    return is_known;
  };
  add(g_totals.cpu_ns, last.cpu_ns, now.cpu_ns);
  add(g_totals.switches, last.switches, now.switches);
  if (add(g_totals.wait_ns, last.wait_ns, now.wait_ns))
    g_totals.has_wait.store(true, std::memory_order_relaxed);
}

/// Returns the number of processors in the calling thread's affinity mask; kUnknown on machines
/// with more than CPU_SETSIZE.
std::uint64_t usable_processor_count() noexcept {
  cpu_set_t mask;
  return sched_getaffinity(0, sizeof mask, &mask) == 0
             ? static_cast<std::uint64_t>(CPU_COUNT(&mask))
             : ThreadCpu::kUnknown;
}

void write(HookThread& thread, const ThreadCpu& now, std::uint64_t ticks) noexcept {
  EventBuffer& buffer = *thread.buffer;
  if (now.cpu_ns == ThreadCpu::kUnknown || !has_space(buffer, kMaxWords, ticks)) return;
  encoding::Word* to = buffer.cursor();
  const auto put_counter = [&](CpuCounter counter, std::uint64_t value) {
    if (value == ThreadCpu::kUnknown) return;
    to = hook_words::encode_counter(to, ticks, buffer.base_ticks(), cpu_counter_id(counter),
                                    static_cast<double>(value));
  };
  put_counter(CpuCounter::kCpuTime, now.cpu_ns);
  put_counter(CpuCounter::kCoreWait, now.wait_ns);
  put_counter(CpuCounter::kInvoluntarySwitches, now.switches);
  if (!thread.cpu.has_last) put_counter(CpuCounter::kUsableProcessors, usable_processor_count());
  buffer.commit(to);
}

/// Records a reading with the time before it, so that its cost falls into the next interval.
void read(HookThread& thread) noexcept {
  const ErrnoKept errno_kept;
  std::optional<OverheadTimer> overhead;
  if (Recorder* const active = recorder()) overhead.emplace(*active);
  CpuState& state = thread.cpu;
  const std::uint64_t begin = clock::ticks(thread.use_tsc);
  const ThreadCpu now = state.reader.read();
  write(thread, now, begin);
  if (state.has_last) {
    add_to_totals(state.last, now);
    const std::uint64_t cost = clock::ticks(thread.use_tsc) - begin;
    if (state.cost_ticks == 0 || cost < state.cost_ticks)
      state.cost_ticks = cost;  // the smallest: the thread may lose its core during one
  } else if (g_has_key.load(std::memory_order_relaxed)) {
    (void)pthread_setspecific(g_key, &thread);
  }
  g_totals.readings.fetch_add(1, std::memory_order_relaxed);
  state.last = now;
  state.has_last = true;
}

}  // namespace

void prepare_cpu_readings() noexcept {
  if (!g_has_key.load(std::memory_order_relaxed))
    g_has_key.store(pthread_key_create(&g_key, &on_thread_exit) == 0, std::memory_order_relaxed);
}

std::uint64_t read_cpu() noexcept {
  HookThread* const thread = thread_for(kCpu);
  if (thread == nullptr) return 0;
  read(*thread);
  return thread->cpu.cost_ticks;
}

void read_cpu_at_boundary() noexcept {
  HookThread* const thread = thread_for(kCpu);
  if (thread == nullptr) return;
  CpuState& state = thread->cpu;
  const std::uint64_t now = clock::ticks(thread->use_tsc);
  if (state.has_last && now - state.boundary_ticks < kCpuReadingShare * state.cost_ticks) return;
  state.boundary_ticks = now;
  read(*thread);
}

bool reads_cpu() noexcept { return (g_gate.load(std::memory_order_relaxed) & kCpu) != 0; }

CpuTotals cpu_totals() noexcept {
  const auto load = [](const auto& value) { return value.load(std::memory_order_relaxed); };
  return {.cpu_ns = load(g_totals.cpu_ns),
          .wait_ns = load(g_totals.wait_ns),
          .switches = load(g_totals.switches),
          .readings = load(g_totals.readings),
          .has_wait = load(g_totals.has_wait)};
}

}  // namespace megascope::hooks
