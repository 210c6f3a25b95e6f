#pragma once

#include "core/record/ids.h"
#include "core/record/point.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

/// CPU times that the kernel accounts to a thread, read from time to time by the thread itself. A
/// reading is stored as up to three counter values of one time. These counters have reserved ids
/// and no definition, so that readers that do not know them ignore them.
namespace megascope {

/// Append only: the numbers are stored in traces.
enum class CpuCounter : std::uint8_t {
  kCpuTime,   ///< ns on a processor since the thread started
  kCoreWait,  ///< ns runnable without a processor; not stored if the kernel does not report it
  kInvoluntarySwitches,  ///< how often the kernel gave the processor to another thread
  kUsableProcessors,  ///< processors in the thread's affinity mask; stored with its first reading
                      ///< only
};
inline constexpr CounterId kFirstCpuCounter = 0xFFFFFF00;

constexpr CounterId cpu_counter_id(CpuCounter counter) {
  return kFirstCpuCounter + static_cast<CounterId>(counter);
}
/// Returns whether the point is part of a CPU reading and not a counter of the application.
constexpr bool is_cpu_counter(const Point& point) {
  return point.kind == PointKind::kCounter && point.id >= kFirstCpuCounter &&
         point.id != 0xFFFFFFFF;
}

/// Reads the next point that is not part of a CPU reading. Returns false at the end. For readers
/// that need only the annotations of the application.
inline bool next_of_program(PointStream& points, Point& point) {
  while (points.next(point)) {
    if (!is_cpu_counter(point)) return true;
  }
  return false;
}

/// One reading: values since the thread started. Time in the unit of the source.
struct CpuReading {
  std::uint64_t time_ns = 0;
  double cpu_ns = 0.0;
  std::optional<double> wait_ns;   ///< nullopt: the kernel does not report it
  std::optional<double> switches;  ///< nullopt: the kernel does not report it

  bool operator==(const CpuReading&) const = default;
};

/// Extracts the CPU readings from the points of one location, in order of time. One reader thread.
class CpuReadings {
 public:
  /// points: may be null for no points.
  explicit CpuReadings(std::unique_ptr<PointStream> points) : points_(std::move(points)) {
    fetch();
  }

  /// Reads the next reading. Returns false at the end.
  bool next(CpuReading& reading) {
    while (has_point_ && point_.id != cpu_counter_id(CpuCounter::kCpuTime))
      fetch();  // rest of a reading whose beginning was lost
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

/// Sums over the threads of a process. Each thread contributes the difference between its last and
/// its first reading.
struct CpuTotals {
  std::uint64_t cpu_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t switches = 0;
  std::uint64_t readings = 0;  ///< 0: there are no readings
  bool has_wait = false;       ///< wait_ns is known

  bool operator==(const CpuTotals&) const = default;
};

}  // namespace megascope
