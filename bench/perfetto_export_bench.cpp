// Perfetto export: slices a second with 1 and 2 members, bytes a slice with flows and arguments
// (docs/overhead.md).
#include "bench/timeline_export_bench.h"
#include "exporters/perfetto/export.h"

namespace megascope::bench {
namespace {

using Kind = GeneratedRun::Kind;

BENCHMARK_CAPTURE(export_run, perfetto_halo, perfetto::run_export, Kind::kHalo)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(export_run, perfetto_blocking, perfetto::run_export, Kind::kBlocking)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(export_run, perfetto_mixed, perfetto::run_export, Kind::kMixed)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();

}  // namespace
}  // namespace megascope::bench

BENCHMARK_MAIN();
