#pragma once

#include "core/record/source.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace megascope::analysis {

/// Correction of one process's times: a piecewise linear function that returns for each recorded
/// time the shift, in ns and at least 0, to the corrected time. Two points with the same time are a
/// jump. Corrected times keep their order. Immutable: any thread. O(log points) per query.
class TimeCorrection {
 public:
  struct Point {
    std::uint64_t time_ns = 0;
    std::uint64_t shift_ns = 0;
  };
  TimeCorrection() = default;
  /// points: in order of time. The shift is 0 before the first and after the last point.
  explicit TimeCorrection(std::vector<Point> points) : points_(std::move(points)) {}

  bool is_none() const { return points_.empty(); }
  const std::vector<Point>& points() const { return points_; }
  std::uint64_t max_ns() const;  ///< largest shift
  std::uint64_t shift_ns(std::uint64_t time_ns) const {
    const auto after = std::ranges::upper_bound(points_, time_ns, {}, &Point::time_ns);
    if (after == points_.begin() || after == points_.end())
      return after == points_.begin() || points_.empty() ? 0 : last_shift(time_ns);
    const Point& before = *(after - 1);
    const bool falls = after->shift_ns < before.shift_ns;
    const std::uint64_t change = falls ? before.shift_ns - after->shift_ns
                                       : after->shift_ns - before.shift_ns;
    const auto part = static_cast<std::uint64_t>(
        static_cast<Wide>(change) * (time_ns - before.time_ns) / (after->time_ns - before.time_ns));
    return falls ? before.shift_ns - part : before.shift_ns + part;
  }
  std::uint64_t corrected(std::uint64_t time_ns) const { return time_ns + shift_ns(time_ns); }

 private:
  __extension__ using Wide = unsigned __int128;
  std::uint64_t last_shift(std::uint64_t time_ns) const {
    return time_ns == points_.back().time_ns ? points_.back().shift_ns : 0;
  }
  std::vector<Point> points_;
};

/// A run in corrected times. `whole` must outlive the object, and the object its streams. Threads:
/// as `whole`.
class CorrectedSource final : public RecordSource {
 public:
  /// corrections: by index in whole.world_ranks().
  CorrectedSource(const RecordSource& whole, std::vector<TimeCorrection> corrections);

  std::int32_t world_size() const override { return whole_.world_size(); }
  const std::vector<std::int32_t>& world_ranks() const override { return whole_.world_ranks(); }
  const ProcessDefinitions& process(std::int32_t world_rank) const override {
    return whole_.process(world_rank);
  }
  std::unique_ptr<CallStream> calls(std::int32_t world_rank, LocationId location) const override;
  std::unique_ptr<PointStream> points(std::int32_t world_rank, LocationId location) const override;
  std::int64_t start_realtime_ns() const override { return whole_.start_realtime_ns(); }
  std::uint64_t end_ns() const override { return whole_.end_ns() + max_ns_; }

 private:
  const TimeCorrection* correction_of(std::int32_t world_rank) const;

  const RecordSource& whole_;
  std::vector<TimeCorrection> corrections_;
  std::uint64_t max_ns_ = 0;
};

}  // namespace megascope::analysis
