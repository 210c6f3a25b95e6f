#include "bench/timeline_export_bench.h"

#include "tests/support/thread_collective.h"

#include <ctime>
#include <filesystem>
#include <string>

namespace megascope::bench {
namespace {

constexpr std::int32_t kRanks = 8;
constexpr std::uint64_t kRounds = 20'000;

}  // namespace

void export_run(benchmark::State& state, ExportFunction exporter, GeneratedRun::Kind kind) {
  namespace fs = std::filesystem;
  const auto members = static_cast<int>(state.range(0));
  const fs::path directory = fs::temp_directory_path() / "megascope-export-bench";
  ExportResult result;
  Status status;
  std::clock_t cpu = 0;  // of all threads
  for (auto _ : state) {
    state.PauseTiming();
    fs::remove_all(directory);
    fs::create_directories(directory);
    const std::clock_t start = std::clock();
    state.ResumeTiming();
    test::run_members(members, [&](Collective& collective) {
      const GeneratedRun share(kind, kRanks, kRanks / members * collective.rank(), kRanks / members,
                               kRounds);
      const ExportJob job{.source = &share,
                          .collective = &collective,
                          .directory = directory.string(),
                          .generator = "bench",
                          .progress = {}};
      ExportResult reported;
      Status mine = exporter(job, reported);
      if (collective.rank() == 0) std::tie(status, result) = std::pair(std::move(mine), reported);
    });
    cpu += std::clock() - start;
    if (!status.is_ok()) return state.SkipWithError(status.message().c_str());
  }
  fs::remove_all(directory);
  const double calls = kRanks *
                       static_cast<double>(GeneratedRun(kind, kRanks, 0, 1, kRounds).call_count());
  const auto records = static_cast<double>(result.records);
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["calls_per_s"] = benchmark::Counter(calls * iterations,
                                                     benchmark::Counter::kIsRate);
  state.counters["records_per_s"] = benchmark::Counter(records * iterations,
                                                       benchmark::Counter::kIsRate);
  state.counters["records_per_cpu_s"] = records * iterations * CLOCKS_PER_SEC /
                                        static_cast<double>(cpu);
  state.counters["bytes_per_record"] = static_cast<double>(result.bytes) / records;
  state.counters["bytes_per_call"] = static_cast<double>(result.bytes) / calls;
}

}  // namespace megascope::bench
