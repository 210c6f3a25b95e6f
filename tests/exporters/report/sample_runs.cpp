#include "tests/exporters/report/sample_runs.h"

#include "exporters/report/summary.h"
#include "tests/support/sample_process.h"

#include <vector>

namespace megascope::report {
namespace {

using test::SampleProcess;

constexpr std::uint64_t kMillisecond = 1'000'000;

SampleProcess process_of(std::int32_t rank, std::int32_t world_size) {
  SampleProcess process(rank, world_size);
  process.definitions().comms[test::kWorld].global_name = 0xABCD;
  ProcessInfo& info = process.definitions().info;
  info.pid = 4000 + rank;
  info.run_id = "node01-4000";
  info.host = rank < (world_size + 1) / 2 ? "node01" : "node02";
  info.program = "/opt/solver";
  info.command_line = "/opt/solver -n 64";
  info.mpi_library = "Open MPI v4.1.4";
  info.clock.kind = ClockKind::kMonotonic;
  info.clock.points = {{0, 0, 1'700'000'000'250'000'000}};
  info.end_state = EndState::kFinalized;
  info.overhead_ticks = 2 * kMillisecond;
  return process;
}

void add_step(SampleProcess& process, std::int32_t rank, std::int32_t world_size,
              std::uint64_t start, std::uint32_t step) {
  const std::int32_t right = (rank + 1) % world_size;
  const std::int32_t left = (rank + world_size - 1) % world_size;
  const bool is_late = world_size > 1 && rank == world_size - 1;
  const std::uint64_t now = start + (is_late ? 8 : 4) * kMillisecond;
  process.call("MPI_Isend", now, now + 1000, {test::send_request(1, right, 7, 1000)});
  process.call("MPI_Recv", now + 1000, now + 501'000, {test::recv(left, 7, 1000)});
  process.call("MPI_Wait", now + 501'000, now + 503'000, {test::send_complete(1)});
  process.call("MPI_Allreduce", now + 503'000, start + 10 * kMillisecond, {test::collective(step)});
}

}  // namespace

MemorySource sample_run(std::int32_t world_size, int steps) {
  std::vector<SampleProcess> processes;
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    SampleProcess& process = processes.emplace_back(process_of(rank, world_size));
    std::uint64_t now = 50 * kMillisecond;
    process.call("MPI_Init", 0, now);
    for (int step = 0; step < steps; ++step, now += 10 * kMillisecond)
      add_step(process, rank, world_size, now, static_cast<std::uint32_t>(step));
    process.call("MPI_Finalize", now, now);
  }
  MemorySource run = make_source(world_size, processes);
  run.set_start_realtime_ns(1'700'000'000'250'000'000);
  return run;
}

RunReport sample_report(std::int32_t world_size, int steps) {
  const std::vector<std::uint64_t> trace_bytes(static_cast<std::size_t>(world_size), 65536);
  RunReport report = summarize_run(sample_run(world_size, steps), "0.1.0", trace_bytes);
  report.conclusion.directory = "megascope-node01-4000";
  report.conclusion.report_command = "megascope report megascope-node01-4000";
  report.conclusion.exports = {{"otf2", "trace.otf2", 1234567, 12'582'912},
                               {"perfetto", "trace.perfetto-trace", 654321, 6'291'456}};
  return report;
}

}  // namespace megascope::report
