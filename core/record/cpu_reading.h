#pragma once

#include "core/record/ids.h"
#include "core/record/point.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

/// What the kernel charged to a thread, read now and then by the thread itself. A reading is stored
/// as up to three counter values of one time, whose counters have reserved ids and no definition:
/// readers that do not know them ignore them.
namespace megascope {

/// Append only: stored in traces.
enum class CpuCounter : std::uint8_t {
  kCpuTime,   ///< ns on a processor since the thread started
  kCoreWait,  ///< ns runnable without a processor; not stored where the kernel does not report it
  kInvoluntarySwitches,  ///< the kernel gave the processor to another thread
  kUsableProcessors,     ///< in the thread's affinity mask; with its first reading only
};
inline constexpr CounterId kFirstCpuCounter = 0xFFFFFF00;

constexpr CounterId cpu_counter_id(CpuCounter counter) {
  return kFirstCpuCounter + static_cast<CounterId>(counter);
}
/// Is it a value of a counter of ours, not of one that the program defines?
constexpr bool is_cpu_counter(const Point& point) {
  return point.kind == PointKind::kCounter && point.id >= kFirstCpuCounter &&
         point.id != 0xFFFFFFFF;
}

/// The next point that is no part of a reading; false at the end. For those who show what the
/// program tells.
inline bool next_of_program(PointStream& points, Point& point) {
  while (points.next(point)) {
    if (!is_cpu_counter(point)) return true;
  }
  return false;
}

/// Cumulative since the thread started. Time in the unit of the source.
struct CpuReading {
  std::uint64_t time_ns = 0;
  double cpu_ns = 0.0;
  std::optional<double> wait_ns;   ///< none: the kernel does not report it
  std::optional<double> switches;  ///< none: the kernel does not report it

  bool operator==(const CpuReading&) const = default;
};

/// The readings among the points of one location, in order of time. One reader thread.
class CpuReadings {
 public:
  /// points: nullptr: there are none.
  explicit CpuReadings(std::unique_ptr<PointStream> points) : points_(std::move(points)) {
    fetch();
  }

  /// False at the end.
  bool next(CpuReading& reading) {
    while (has_point_ && point_.id != cpu_counter_id(CpuCounter::kCpuTime))
      fetch();  // what is left of one whose beginning was lost
    if (!has_point_) return false;
    reading = {.time_ns = point_.time_ns, .cpu_ns = point_.value, .wait_ns = {}, .switches = {}};
    for (fetch(); has_point_ && point_.time_ns == reading.time_ns &&
                  point_.id != cpu_counter_id(CpuCounter::kCpuTime);
         fetch()) {
      if (point_.id == cpu_counter_id(CpuCounter::kCoreWait)) reading.wait_ns = point_.value;
      if (point_.id == cpu_counter_id(CpuCounter::kInvoluntarySwitches))
        reading.switches = point_.value;
    }
    return true;
  }

 private:
  void fetch() {
    do {
      has_point_ = points_ != nullptr && points_->next(point_);
    } while (has_point_ && !is_cpu_counter(point_));
  }

  std::unique_ptr<PointStream> points_;
  Point point_;
  bool has_point_ = false;
};

/// What a process's threads were charged with from the first to the last reading of each.
struct CpuTotals {
  std::uint64_t cpu_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t switches = 0;
  std::uint64_t readings = 0;  ///< 0: there are none
  bool has_wait = false;       ///< wait_ns is known

  bool operator==(const CpuTotals&) const = default;
};

}  // namespace megascope
