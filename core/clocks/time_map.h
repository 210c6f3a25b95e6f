#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace megascope {

/// Maps ticks of one process's clock to ns of the run's time: a line, or consecutive line segments.
/// Exact integer arithmetic, monotone. One multiplication; a binary search if there are several
/// segments. Thread-safe for reading, cheap to copy.
class TimeMap {
 public:
  /// A moment on both clocks.
  struct Knot {
    std::uint64_t ticks = 0;
    std::int64_t time_ns = 0;
  };

  /// The identity.
  TimeMap() = default;
  /// The line time_ns(ticks) = offset_ns + (ticks - base_ticks) * ns_per_tick.
  TimeMap(std::uint64_t base_ticks, double ns_per_tick, std::int64_t offset_ns)
      : first_{base_ticks, scale_of(ns_per_tick), offset_ns} {}
  /// Returns the map through the knots (at least one, ascending in both clocks), with ns_per_tick
  /// before the first and after the last one.
  static TimeMap through(const std::vector<Knot>& knots, double ns_per_tick);

  /// Returns the same map with times relative to start_ns.
  TimeMap counted_from(std::int64_t start_ns) const;

  /// Returns the time of `ticks`; 0 before the start of the run.
  std::uint64_t to_ns(std::uint64_t ticks) const {
    const std::int64_t time_ns = to_signed_ns(ticks);
    return time_ns < 0 ? 0 : static_cast<std::uint64_t>(time_ns);
  }
  std::int64_t to_signed_ns(std::uint64_t ticks) const {
    return ticks < first_end_ticks_ ? first_.at(ticks) : line_of(ticks).at(ticks);
  }

 private:
  __extension__ using Wide = __int128;
  static constexpr int kShift = 40;
  static constexpr double kOne = static_cast<double>(std::int64_t{1} << kShift);
  /// Rounds down, so that a segment does not end after the beginning of the next one.
  static std::uint64_t scale_of(double ns_per_tick) {
    return static_cast<std::uint64_t>(ns_per_tick * kOne);
  }

  struct Line {
    std::uint64_t base_ticks = 0;
    std::uint64_t scale = std::uint64_t{1} << kShift;
    std::int64_t offset_ns = 0;

    std::int64_t at(std::uint64_t ticks) const {
      const auto delta = static_cast<std::int64_t>(ticks - base_ticks);
      return static_cast<std::int64_t>(
          ((static_cast<Wide>(delta) * static_cast<Wide>(scale)) >> kShift) + offset_ns);
    }
  };
  const Line& line_of(std::uint64_t ticks) const;

  Line first_;
  std::uint64_t first_end_ticks_ = ~std::uint64_t{0};
  std::shared_ptr<const std::vector<Line>>
      further_;  ///< ascending; the first begins at first_end_ticks_
};

}  // namespace megascope
