#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/record/definitions.h"

namespace megascope {

/// From ticks of one process's clock to ns since the run's start: a line. Exact integer arithmetic, monotone.
/// Cheap: one multiplication.
class TimeMap {
 public:
  /// Identity: ticks as they are.
  TimeMap() = default;
  /// time_ns(ticks) = offset_ns + (ticks - base_ticks) * ns_per_tick; before the run's start: 0.
  TimeMap(std::uint64_t base_ticks, double ns_per_tick, std::int64_t offset_ns)
      : base_ticks_(base_ticks), scale_(static_cast<std::uint64_t>(ns_per_tick * kOne + 0.5)), offset_ns_(offset_ns) {}

  std::uint64_t to_ns(std::uint64_t ticks) const {
    const auto delta = static_cast<std::int64_t>(ticks - base_ticks_);
    const Wide time_ns = ((static_cast<Wide>(delta) * static_cast<Wide>(scale_)) >> kShift) + offset_ns_;
    return time_ns < 0 ? 0 : static_cast<std::uint64_t>(time_ns);
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr int kShift = 40;
  static constexpr double kOne = static_cast<double>(std::int64_t{1} << kShift);

  std::uint64_t base_ticks_ = 0;
  std::uint64_t scale_ = std::uint64_t{1} << kShift;
  std::int64_t offset_ns_ = 0;
};

/// What is needed of a process's clock to place it in the run. Plain data: processes exchange it as bytes.
struct ProcessClock {
  std::int32_t world_rank = 0;
  std::uint64_t domain = 0;  ///< hash of the clock domain
  ClockKind kind = ClockKind::kTsc;
  std::uint64_t start_ticks = 0;
  ClockPoint first;
  ClockPoint last;
};

ProcessClock clock_of(const ProcessInfo& info);

/// The run's time: where its ns 0 lies, and a map for each process in the order given.
/// Processes of one clock domain get one line (of their lowest rank), so that their order is that of the clock; domains
/// are placed by CLOCK_REALTIME, that is as well as the nodes' clocks are set.
struct RunTime {
  std::int64_t start_realtime_ns = 0;
  std::vector<TimeMap> maps;
};
RunTime run_time_of(const std::vector<ProcessClock>& clocks);

}  // namespace megascope
