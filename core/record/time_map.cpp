#include "core/record/time_map.h"

#include <algorithm>
#include <map>

namespace megascope {
namespace {

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return hash;
}

double ns_per_tick(const ProcessClock& clock) {
  if (clock.kind == ClockKind::kMonotonic) return 1.0;
  const auto ticks = static_cast<double>(clock.last.ticks - clock.first.ticks);
  const auto elapsed_ns = static_cast<double>(clock.last.monotonic_ns - clock.first.monotonic_ns);
  // Without two distinct moments (a process that died at once), or with damaged ones, one tick counts as one ns.
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e3;
  const double rate = clock.last.ticks > clock.first.ticks ? elapsed_ns / ticks : 0.0;
  return rate >= kLeast && rate <= kMost ? rate : 1.0;
}

/// Of the processes that share a clock, the longest-lived knows its rate best.
const ProcessClock& reference_of(const std::vector<const ProcessClock*>& members) {
  return **std::max_element(members.begin(), members.end(), [](const ProcessClock* a, const ProcessClock* b) {
    return a->last.ticks - a->first.ticks < b->last.ticks - b->first.ticks;
  });
}

}  // namespace

ProcessClock clock_of(const ProcessInfo& info) {
  ProcessClock clock;
  clock.world_rank = info.world_rank;
  clock.domain = hash_of(info.clock_domain);
  clock.kind = info.clock;
  clock.start_ticks = info.start_ticks;
  if (!info.clock_points.empty()) {
    clock.first = info.clock_points.front();
    clock.last = info.clock_points.back();
  }
  return clock;
}

RunTime run_time_of(const std::vector<ProcessClock>& clocks) {
  std::map<std::uint64_t, std::vector<const ProcessClock*>> domains;
  for (const ProcessClock& clock : clocks) domains[clock.domain].push_back(&clock);

  struct Line {
    const ProcessClock* reference;
    double rate;
    std::int64_t start_realtime_ns;  // of the domain's earliest process
  };
  std::map<std::uint64_t, Line> lines;
  RunTime run;
  bool is_first = true;
  for (const auto& [domain, members] : domains) {
    const ProcessClock& reference = reference_of(members);
    const double rate = ns_per_tick(reference);
    std::uint64_t start = members.front()->start_ticks;
    for (const ProcessClock* member : members) start = std::min(start, member->start_ticks);
    constexpr double kMostNs = static_cast<double>(std::int64_t{1} << 60);  // a damaged start lies anywhere
    const double before =
        std::clamp((static_cast<double>(reference.first.ticks) - static_cast<double>(start)) * rate, -kMostNs, kMostNs);
    const std::int64_t realtime = reference.first.realtime_ns - static_cast<std::int64_t>(before);
    lines[domain] = {&reference, rate, realtime};
    if (is_first || realtime < run.start_realtime_ns) run.start_realtime_ns = realtime;
    is_first = false;
  }
  for (const ProcessClock& clock : clocks) {
    const Line& line = lines.at(clock.domain);
    run.maps.emplace_back(line.reference->first.ticks, line.rate,
                          line.reference->first.realtime_ns - run.start_realtime_ns);
  }
  return run;
}

}  // namespace megascope
