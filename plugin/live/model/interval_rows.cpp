#include "plugin/live/model/interval_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace megascope::live {
namespace {

constexpr std::size_t kMaxOpen = 4;  ///< rows; 2 s

}  // namespace

void IntervalRows::put(std::int32_t world_rank, std::uint32_t ranks, std::int64_t index,
                       const capture::Interval& share) {
  const std::int64_t number = index - *first_index_;
  if (number < 0 || number <= last_done_) return;
  Row& row = open_[index];
  if (row.entry.times.empty()) {
    row.entry.step = number;
    row.entry.begin_ms = static_cast<double>((index - 1) * capture::kIntervalMs);
    row.entry.times.resize(kTimeColumns.size() * ranks, std::numeric_limits<float>::quiet_NaN());
  }
  float* const times = row.entry.times.data() + world_rank;
  row.said += std::isnan(times[0]) ? 1 : 0;
  times[0] = share.length_ms;
  times[ranks] = share.mpi_ms;
  times[std::size_t{2} * ranks] = share.own_ms;
}

std::vector<StepEntry> IntervalRows::add(std::int32_t world_rank, std::uint32_t ranks,
                                         const capture::Interval& interval) {
  constexpr std::int64_t kMaxIndex = std::int64_t{1} << 40;
  if (world_rank < 0 || static_cast<std::uint32_t>(world_rank) >= ranks || interval.index < 0 ||
      interval.index > kMaxIndex)
    return {};
  if (!first_index_) first_index_ = interval.index;
  // An interval longer than kIntervalMs (a rank was in one long call) is distributed evenly over
  // the rows that it covers.
  const float covered = std::round(interval.length_ms / static_cast<float>(capture::kIntervalMs));
  const float rows = std::isfinite(covered)
                         ? std::clamp(covered, 1.0F, static_cast<float>(kMaxIndex))
                         : 1.0F;
  const auto kept = static_cast<std::int64_t>(
      std::min(rows, static_cast<float>(kMaxOpen)));  // older rows are complete already
  const capture::Interval share{.index = 0,
                                .length_ms = interval.length_ms / rows,
                                .mpi_ms = interval.mpi_ms / rows,
                                .own_ms = interval.own_ms / rows};
  for (std::int64_t index = interval.index - kept + 1; index <= interval.index; ++index)
    put(world_rank, ranks, index, share);
  std::vector<StepEntry> done;
  while (!open_.empty() && (open_.begin()->second.said == ranks || open_.size() > kMaxOpen)) {
    last_done_ = std::max(last_done_, open_.begin()->second.entry.step);
    done.push_back(std::move(open_.begin()->second.entry));
    open_.erase(open_.begin());
  }
  return done;
}

}  // namespace megascope::live
