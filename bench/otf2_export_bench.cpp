// OTF2 export: records a second with 1 and 2 members, beside libotf2 alone writing the same events
// (docs/overhead.md).
#include "bench/otf2_reference.h"
#include "bench/timeline_export_bench.h"
#include "exporters/otf2/export.h"

#include <ctime>
#include <filesystem>

namespace megascope::bench {
namespace {

using Kind = GeneratedRun::Kind;

void libotf2_alone(benchmark::State& state, Kind kind) {
  namespace fs = std::filesystem;
  const fs::path directory = fs::temp_directory_path() / "megascope-libotf2-bench";
  const GeneratedRun run(kind, 8, 0, 8, 20'000);
  std::uint64_t records = 0;
  std::clock_t cpu = 0;
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove_all(directory);
    fs::create_directories(directory);
    const std::clock_t start = std::clock();
    state.ResumeTiming();
    records = write_with_libotf2(run, directory.string());
    cpu += std::clock() - start;
    if (records == 0) return state.SkipWithError("libotf2 did not make an archive");
  }
  fs::remove_all(directory);
  const double all = static_cast<double>(records) * static_cast<double>(state.iterations());
  state.counters["records_per_s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["records_per_cpu_s"] = all * CLOCKS_PER_SEC / static_cast<double>(cpu);
}

void making_calls(benchmark::State& state, Kind kind) {
  const GeneratedRun run(kind, 8, 0, 8, 20'000);
  std::uint64_t calls = 0;
  for (auto _ : state) calls += generate_only(run);
  state.counters["calls_per_s"] = benchmark::Counter(static_cast<double>(calls),
                                                     benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(making_calls, mixed, Kind::kMixed)->UseRealTime();
BENCHMARK_CAPTURE(libotf2_alone, halo, Kind::kHalo)->UseRealTime();
BENCHMARK_CAPTURE(export_run, otf2_halo, otf2::run_export, Kind::kHalo)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(libotf2_alone, mixed, Kind::kMixed)->UseRealTime();
BENCHMARK_CAPTURE(export_run, otf2_mixed, otf2::run_export, Kind::kMixed)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();

}  // namespace
}  // namespace megascope::bench

BENCHMARK_MAIN();
