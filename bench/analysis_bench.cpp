#include "analysis/match/match.h"
#include "analysis/waits/wait_analysis.h"
#include "bench/generated_run.h"
#include "core/record/merged_calls.h"

#include <benchmark/benchmark.h>

#include <ctime>

/// The whole analysis pass over a generated run, and the floor: the same records read with nothing
/// done. CPU time of all threads; the argument of the analysis is how many.
namespace megascope::bench {
namespace {

constexpr std::int32_t kRanks = 16;
constexpr std::uint64_t kRounds = 40'000;

/// The ranks of a generated run one after the other in time, so that nearly every call waits for
/// somebody.
class SkewedRun final : public RecordSource {
 public:
  explicit SkewedRun(const GeneratedRun& whole) : whole_(whole) {}
  std::int32_t world_size() const override { return whole_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return whole_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t rank) const override {
    return whole_.process(rank);
  }
  std::unique_ptr<CallStream> calls(std::int32_t rank, LocationId location) const override {
    return std::make_unique<Stream>(whole_.calls(rank, location),
                                    static_cast<std::uint64_t>(rank) * 7 % kRanks * 150);
  }
  std::int64_t start_realtime_ns() const override { return whole_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return whole_.end_ns(); }

 private:
  class Stream final : public CallStream {
   public:
    Stream(std::unique_ptr<CallStream> calls, std::uint64_t shift_ns)
        : calls_(std::move(calls)), shift_ns_(shift_ns) {}
    bool next(Call& call) override {
      if (!calls_->next(call)) return false;
      call.enter_ns += shift_ns_;
      call.leave_ns += shift_ns_;
      return true;
    }

   private:
    std::unique_ptr<CallStream> calls_;
    std::uint64_t shift_ns_;
  };
  const GeneratedRun& whole_;
};

void count(benchmark::State& state, std::clock_t cpu, std::uint64_t calls) {
  const double all = static_cast<double>(calls) * static_cast<double>(state.iterations());
  state.counters["calls_per_s"] = benchmark::Counter(all, benchmark::Counter::kIsRate);
  state.counters["calls_per_cpu_s"] = all * CLOCKS_PER_SEC / static_cast<double>(cpu);
}

void read(benchmark::State& state, GeneratedRun::Kind kind) {
  const GeneratedRun run(kind, kRanks, 0, kRanks, kRounds);
  std::clock_t cpu = 0;
  for (auto _ : state) {
    const std::clock_t start = std::clock();
    for (const std::int32_t rank : run.world_ranks()) {
      MergedCalls calls(run, rank);
      LocationId location = 0;
      while (const Call* call = calls.next(location)) benchmark::DoNotOptimize(call->leave_ns);
    }
    cpu += std::clock() - start;
  }
  count(state, cpu, kRanks * run.call_count());
}

void analyze(benchmark::State& state, GeneratedRun::Kind kind) {
  const GeneratedRun whole(kind, kRanks, 0, kRanks, kRounds);
  const SkewedRun run(whole);
  const auto jobs = static_cast<unsigned>(state.range(0));
  std::clock_t cpu = 0;
  for (auto _ : state) {
    const std::clock_t start = std::clock();
    const analysis::MatchTables tables(run);
    analysis::WaitStates states(tables);
    const analysis::Matching matching = analysis::match_run(run, tables, states, jobs);
    const analysis::WaitAnalysis waits = analysis::analyze_waits(states, matching, tables, jobs);
    if (waits.suffered_ns == 0)
      return state.SkipWithError("no rank waited: this is not the cost of the analysis");
    cpu += std::clock() - start;
    if (matching.unmatched() != 0)
      return state.SkipWithError("not all was matched: this is not the cost of the analysis");
  }
  count(state, cpu, kRanks * whole.call_count());
}

BENCHMARK_CAPTURE(read, halo, GeneratedRun::Kind::kHalo)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, blocking, GeneratedRun::Kind::kBlocking)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(read, mixed, GeneratedRun::Kind::kMixed)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(analyze, halo, GeneratedRun::Kind::kHalo)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(analyze, blocking, GeneratedRun::Kind::kBlocking)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(analyze, mixed, GeneratedRun::Kind::kMixed)
    ->Arg(1)
    ->Arg(2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace megascope::bench

BENCHMARK_MAIN();
