#include "analysis/align/time_correction.h"

namespace megascope::analysis {
namespace {

class CorrectedStream final : public CallStream {
 public:
  CorrectedStream(std::unique_ptr<CallStream> calls, const TimeCorrection& correction)
      : calls_(std::move(calls)), correction_(correction) {}

  bool next(Call& call) override {
    if (!calls_->next(call)) return false;
    call.enter_ns = correction_.corrected(call.enter_ns);
    call.leave_ns = correction_.corrected(call.leave_ns);
    return true;
  }

 private:
  std::unique_ptr<CallStream> calls_;
  const TimeCorrection& correction_;
};

class CorrectedPoints final : public PointStream {
 public:
  CorrectedPoints(std::unique_ptr<PointStream> points, const TimeCorrection& correction)
      : points_(std::move(points)), correction_(correction) {}

  bool next(Point& point) override {
    if (!points_->next(point)) return false;
    point.time_ns = correction_.corrected(point.time_ns);
    if (point.kind == PointKind::kRangeStop) point.start_ns = correction_.corrected(point.start_ns);
    return true;
  }

 private:
  std::unique_ptr<PointStream> points_;
  const TimeCorrection& correction_;
};

}  // namespace

std::uint64_t TimeCorrection::max_ns() const {
  std::uint64_t most = 0;
  for (const Point& point : points_) most = std::max(most, point.shift_ns);
  return most;
}

CorrectedSource::CorrectedSource(const RecordSource& whole, std::vector<TimeCorrection> corrections)
    : whole_(whole), corrections_(std::move(corrections)) {
  for (const TimeCorrection& correction : corrections_)
    max_ns_ = std::max(max_ns_, correction.max_ns());
}

/// nullptr: no time of the rank is corrected.
const TimeCorrection* CorrectedSource::correction_of(std::int32_t world_rank) const {
  const auto found = std::ranges::lower_bound(whole_.world_ranks(), world_rank);
  const auto index = static_cast<std::size_t>(found - whole_.world_ranks().begin());
  return index >= corrections_.size() || corrections_[index].is_none() ? nullptr
                                                                       : &corrections_[index];
}

std::unique_ptr<CallStream> CorrectedSource::calls(std::int32_t world_rank,
                                                   LocationId location) const {
  auto calls = whole_.calls(world_rank, location);
  const TimeCorrection* const correction = correction_of(world_rank);
  if (correction == nullptr) return calls;
  return std::make_unique<CorrectedStream>(std::move(calls), *correction);
}

std::unique_ptr<PointStream> CorrectedSource::points(std::int32_t world_rank,
                                                     LocationId location) const {
  auto points = whole_.points(world_rank, location);
  const TimeCorrection* const correction = correction_of(world_rank);
  if (points == nullptr || correction == nullptr) return points;
  return std::make_unique<CorrectedPoints>(std::move(points), *correction);
}

}  // namespace megascope::analysis
