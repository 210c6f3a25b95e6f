// Chrome export: events and calls a second with 1 and 2 members, bytes gzipped (docs/overhead.md).
#include "bench/timeline_export_bench.h"
#include "exporters/chrome/export.h"

namespace megascope::bench {
namespace {

using Kind = GeneratedRun::Kind;

BENCHMARK_CAPTURE(export_run, chrome_halo, chrome::run_export, Kind::kHalo)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(export_run, chrome_blocking, chrome::run_export, Kind::kBlocking)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();
BENCHMARK_CAPTURE(export_run, chrome_mixed, chrome::run_export, Kind::kMixed)
    ->Arg(1)
    ->Arg(2)
    ->UseRealTime();

}  // namespace
}  // namespace megascope::bench

BENCHMARK_MAIN();
