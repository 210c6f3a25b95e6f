#pragma once

#include "bench/generated_run.h"
#include "core/lifecycle/export_job.h"

#include <benchmark/benchmark.h>

namespace megascope::bench {

/// Exports 8 generated ranks with as many members as the benchmark's first argument says, each on a
/// thread, and counts calls_per_s, records_per_s (real time), records_per_cpu_s, bytes_per_record
/// and bytes_per_call.
void export_run(benchmark::State& state, ExportFunction exporter, GeneratedRun::Kind kind);

}  // namespace megascope::bench
