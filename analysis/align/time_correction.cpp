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

}  // namespace

std::uint64_t TimeCorrection::most_ns() const {
  std::uint64_t most = 0;
  for (const Point& point : points_) most = std::max(most, point.shift_ns);
  return most;
}

CorrectedSource::CorrectedSource(const RecordSource& whole, std::vector<TimeCorrection> corrections)
    : whole_(whole), corrections_(std::move(corrections)) {
  for (const TimeCorrection& correction : corrections_) most_ns_ = std::max(most_ns_, correction.most_ns());
}

std::unique_ptr<CallStream> CorrectedSource::calls(std::int32_t world_rank, LocationId location) const {
  const auto found = std::ranges::lower_bound(whole_.world_ranks(), world_rank);
  const auto index = static_cast<std::size_t>(found - whole_.world_ranks().begin());
  auto calls = whole_.calls(world_rank, location);
  if (index >= corrections_.size() || corrections_[index].is_none()) return calls;
  return std::make_unique<CorrectedStream>(std::move(calls), corrections_[index]);
}

}  // namespace megascope::analysis
