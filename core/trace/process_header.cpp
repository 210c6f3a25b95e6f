#include "core/trace/process_header.h"

#include <algorithm>
#include <cstring>

namespace megascope::trace {

void begin_header(FileHeader& header, const ProcessInfo& info) {
  const ClockPoint& first = info.clock.points.front();
  std::memcpy(header.magic, kFileMagic, sizeof header.magic);
  header.version = kFormatVersion;
  header.header_bytes = kFileHeaderBytes;
  header.world_rank = info.world_rank;
  header.world_size = info.world_size;
  header.pid = info.pid;
  header.clock_kind = static_cast<std::uint32_t>(info.clock.kind);
  header.thread_level = static_cast<std::uint32_t>(info.thread_level);
  header.end_state = static_cast<std::uint32_t>(EndState::kRunning);
  header.is_standalone = info.is_standalone ? 1 : 0;
  header.start_ticks = info.start_ticks;
  header.first_moment_ticks = first.ticks;
  header.first_moment_monotonic_ns = first.monotonic_ns;
  header.first_moment_realtime_ns = first.realtime_ns;
  const std::size_t length = std::min(info.run_id.size(), sizeof header.run_id - 1);
  std::memcpy(header.run_id, info.run_id.data(), length);
  header.pid_namespace = info.identity.pid_namespace;
  header.process_start_ticks = info.identity.start_ticks;
  info.identity.boot_id.copy(header.boot_id, sizeof header.boot_id - 1);
}

void end_header(FileHeader& header, EndState state, const ClockPoint& last) {
  header.end_ticks = last.ticks;
  header.end_monotonic_ns = last.monotonic_ns;
  header.end_realtime_ns = last.realtime_ns;
  header.end_state = static_cast<std::uint32_t>(state);
}

std::vector<DefinitionBytes> encode_properties(const ProcessInfo& info) {
  std::vector<DefinitionBytes> all{encode_property(kPropertyHost, info.host),
                                   encode_property(kPropertyProgram, info.program),
                                   encode_property(kPropertyCommandLine, info.command_line),
                                   encode_property(kPropertyMpiLibrary, info.mpi_library),
                                   encode_property(kPropertyJob, info.job),
                                   encode_property(kPropertyRunDirectory, info.run_directory)};
  for (const LauncherFact& fact : info.launcher)
    all.push_back(encode_property(fact.name, fact.value));
  for (const ParallelIndex& parallel : info.parallel)
    all.push_back(encode_property(kPropertyParallel, to_text(parallel)));
  all.push_back(encode_property(kPropertyWorld, info.world.name));
  all.push_back(encode_property(kPropertyParentWorld, info.world.parent));
  all.push_back(encode_property(kPropertyClockDomain, info.clock.domain));
  if (info.cpus.is_known()) all.push_back(encode_property(kPropertyCpus, to_text(info.cpus)));
  for (const ClockSample& sample : info.clock.samples) all.push_back(encode(sample));
  return all;
}

}  // namespace megascope::trace
