#include "core/trace/run_files.h"
#include "core/trace/trace_writer.h"

#include <cmath>

namespace megascope::trace {
namespace {

/// Ticks of an undisturbed clock at the start of the run: far enough from 0 for any offset of a
/// test.
constexpr std::int64_t kStartTicks = 1'000'000'000'000;

std::uint64_t ticks_at(const TraceClock& clock, std::uint64_t time_ns) {
  const double drift = static_cast<double>(time_ns) * clock.drift_ppm * 1e-6;
  return static_cast<std::uint64_t>(kStartTicks + clock.offset_ns +
                                    static_cast<std::int64_t>(time_ns) + std::llround(drift));
}

void set_clock(ProcessInfo& info, const TraceClock& clock, const RecordSource& source) {
  const std::int64_t realtime = source.start_realtime_ns() + clock.realtime_error_ns;
  const std::uint64_t start = ticks_at(clock, 0);
  const std::uint64_t end = ticks_at(clock, source.end_ns());
  info.clock.kind = ClockKind::kMonotonic;
  info.clock.domain = clock.domain;
  info.start_ticks = start;
  info.end_ticks = end;
  info.clock.points = {
      {start, static_cast<std::int64_t>(start), realtime},
      {end, static_cast<std::int64_t>(end), realtime + static_cast<std::int64_t>(source.end_ns())}};
}

Status write_process(const RecordSource& source, std::int32_t rank, const std::string& path,
                     const TraceClock& clock) {
  ProcessDefinitions process = source.process(rank);
  set_clock(process.info, clock, source);
  TraceWriter writer;
  Status status = writer.open(path, process);
  for (std::size_t i = 0; i < process.locations.size() && status.is_ok(); ++i) {
    const auto calls = source.calls(rank, process.locations[i].id);
    for (Call call; status.is_ok() && calls->next(call);) {
      if (call.uncertain_ns != 0)
        call.uncertain_ns = ticks_at(clock, latest_entry_ns(call)) - ticks_at(clock, call.enter_ns);
      call.enter_ns = ticks_at(clock, call.enter_ns);
      call.leave_ns = ticks_at(clock, call.leave_ns);
      status = writer.add(process.locations[i].id, call);
    }
  }
  if (status.is_ok()) status = writer.finish();
  return status;
}

}  // namespace

Status write_run(const RecordSource& source, const std::string& directory_path,
                 const std::vector<TraceClock>& clocks) {
  Status status;
  const auto& ranks = source.world_ranks();
  for (std::size_t i = 0; i < ranks.size() && status.is_ok(); ++i) {
    const TraceClock clock = i < clocks.size() ? clocks[i] : TraceClock{};
    status = write_process(source, ranks[i], directory_path + "/" + trace_file_name(ranks[i]),
                           clock);
  }
  return status;
}

}  // namespace megascope::trace
