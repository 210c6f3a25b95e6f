#include "tests/exporters/report/sample_runs.h"

#include "exporters/report/summary.h"

#include <string>
#include <utility>
#include <vector>

namespace megascope::report {
namespace {

enum Region : RegionId { kInit = 1, kIsend, kRecv, kWait, kAllreduce, kFinalize };
constexpr CommId kWorld = 0;
constexpr std::uint64_t kMillisecond = 1'000'000;

RegionDefinition region(RegionId id, const char* name, RegionRole role) {
  RegionDefinition definition;
  definition.id = id;
  definition.name = name;
  definition.role = role;
  return definition;
}

ProcessDefinitions definitions(std::int32_t rank, std::int32_t world_size) {
  ProcessDefinitions all;
  all.info.world_rank = rank;
  all.info.world_size = world_size;
  all.info.pid = 4000 + rank;
  all.info.run_id = "node01-4000";
  all.info.host = rank < (world_size + 1) / 2 ? "node01" : "node02";
  all.info.program = "/opt/solver";
  all.info.command_line = "/opt/solver -n 64";
  all.info.mpi_library = "Open MPI v4.1.4";
  all.info.clock = ClockKind::kMonotonic;
  all.info.clock_points = {{0, 0, 1'700'000'000'250'000'000}};
  all.info.end_state = EndState::kFinalized;
  all.info.overhead_ticks = 2 * kMillisecond;
  all.regions = {region(kInit, "MPI_Init", RegionRole::kFunction),
                 region(kIsend, "MPI_Isend", RegionRole::kPointToPoint),
                 region(kRecv, "MPI_Recv", RegionRole::kPointToPoint),
                 region(kWait, "MPI_Wait", RegionRole::kPointToPoint),
                 region(kAllreduce, "MPI_Allreduce", RegionRole::kCollAllToAll),
                 region(kFinalize, "MPI_Finalize", RegionRole::kFunction)};
  CommDefinition world;
  world.id = kWorld;
  world.global_name = 0xABCD;
  world.kind = CommKind::kWorld;
  world.name = "MPI_COMM_WORLD";
  world.my_rank = rank;
  world.members = {{0, 1, world_size}};
  all.comms = {world};
  LocationDefinition main_thread;
  main_thread.name = "main thread";
  main_thread.is_main = true;
  all.locations = {main_thread};
  return all;
}

MemorySource::OwnedCall call(RegionId region, CommId comm, std::uint64_t enter, std::uint64_t leave,
                             std::vector<Fact> facts = {}) {
  MemorySource::OwnedCall owned;
  owned.call.enter_ns = enter;
  owned.call.leave_ns = leave;
  owned.call.region = region;
  owned.call.comm = comm;
  owned.facts = std::move(facts);
  return owned;
}

void add_step(std::vector<MemorySource::OwnedCall>& calls, std::int32_t rank,
              std::int32_t world_size, std::uint64_t start, std::uint32_t step) {
  const std::int32_t right = (rank + 1) % world_size;
  const std::int32_t left = (rank + world_size - 1) % world_size;
  const bool is_late = world_size > 1 && rank == world_size - 1;
  const std::uint64_t compute = (is_late ? 8 : 4) * kMillisecond;
  const std::uint64_t end = start + 10 * kMillisecond;
  std::uint64_t now = start + compute;
  calls.push_back(call(kIsend, kWorld, now, now + 1000,
                       {{FactKind::kSendRequest, kWorld, 1, 0, right, 7, 1000, 0}}));
  now += 1000;
  calls.push_back(
      call(kRecv, kWorld, now, now + 500'000, {{FactKind::kRecv, kWorld, 0, 0, left, 7, 1000, 0}}));
  now += 500'000;
  calls.push_back(call(kWait, kNoComm, now, now + 2000,
                       {{FactKind::kSendComplete, kNoComm, 1, 0, kNoPeer, 0, 0, 0}}));
  now += 2000;
  calls.push_back(call(kAllreduce, kWorld, now, end,
                       {{FactKind::kCollective, kWorld, 0, step, kNoPeer, 0, 8, 8}}));
}

}  // namespace

MemorySource sample_run(std::int32_t world_size, int steps) {
  MemorySource run(world_size);
  run.set_start_realtime_ns(1'700'000'000'250'000'000);
  for (std::int32_t rank = 0; rank < world_size; ++rank) {
    MemorySource::Process process;
    process.definitions = definitions(rank, world_size);
    std::vector<MemorySource::OwnedCall> calls;
    std::uint64_t now = 50 * kMillisecond;
    calls.push_back(call(kInit, kNoComm, 0, now));
    for (int step = 0; step < steps; ++step, now += 10 * kMillisecond) {
      add_step(calls, rank, world_size, now, static_cast<std::uint32_t>(step));
    }
    calls.push_back(call(kFinalize, kNoComm, now, now));
    process.locations = {std::move(calls)};
    run.add(std::move(process));
  }
  return run;
}

RunReport sample_report(std::int32_t world_size, int steps) {
  const std::vector<std::uint64_t> trace_bytes(static_cast<std::size_t>(world_size), 65536);
  RunReport report = summarize_run(sample_run(world_size, steps), "0.1.0", trace_bytes);
  report.directory = "megascope-node01-4000";
  report.report_command = "megascope report megascope-node01-4000";
  report.exports = {{"otf2", "trace.otf2", 1234567, 12'582'912},
                    {"perfetto", "trace.perfetto-trace", 654321, 6'291'456}};
  return report;
}

}  // namespace megascope::report
