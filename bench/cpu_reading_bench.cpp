#include "core/base/clock.h"
#include "core/base/thread_cpu.h"

#include <benchmark/benchmark.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/// What a reading of a thread's CPU time costs, and its parts: the floor is the clock read that
/// every call of MPI pays twice.
namespace {

void reading(benchmark::State& state) {
  megascope::ThreadCpuReader reader{};
  megascope::ThreadCpu last = reader.read();
  for (auto _ : state) {
    last = reader.read();
    benchmark::DoNotOptimize(last);
  }
  if (last.wait_ns == megascope::ThreadCpu::kUnknown)
    state.SetLabel("without the wait for a core: this kernel does not report it");
  reader.close();
}
BENCHMARK(reading)->ThreadRange(1, 2);

void opening(benchmark::State& state) {
  for (auto _ : state) {
    megascope::ThreadCpuReader reader{};
    benchmark::DoNotOptimize(reader.read());
    reader.close();
  }
}
BENCHMARK(opening);

void clock_read(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(megascope::clock::ticks(true));
}
BENCHMARK(clock_read);

}  // namespace

BENCHMARK_MAIN();
