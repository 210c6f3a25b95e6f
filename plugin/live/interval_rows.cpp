#include "plugin/live/interval_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace megascope::live {
namespace {

constexpr std::size_t kMostOpen = 4;  ///< 2 s

}  // namespace

std::vector<StepEntry> IntervalRows::add(std::int32_t world_rank, std::uint32_t ranks, const tensors::Interval& interval) {
  constexpr std::int64_t kMostIndex = std::int64_t{1} << 40;
  if (world_rank < 0 || static_cast<std::uint32_t>(world_rank) >= ranks || interval.index < 0 || interval.index > kMostIndex) return {};
  if (!first_index_) first_index_ = interval.index;
  const std::int64_t number = interval.index - *first_index_;
  if (number <= last_done_) return {};
  Row& row = open_[interval.index];
  if (row.entry.times.empty()) {
    row.entry.step = number;
    row.entry.begin_ms = static_cast<double>((interval.index - 1) * tensors::kIntervalMs);
    row.entry.times.resize(kTimeColumns.size() * ranks, std::numeric_limits<float>::quiet_NaN());
  }
  float* const times = row.entry.times.data() + world_rank;
  row.said += std::isnan(times[0]) ? 1 : 0;
  times[0] = interval.length_ms;
  times[ranks] = interval.mpi_ms;
  times[std::size_t{2} * ranks] = interval.own_ms;
  std::vector<StepEntry> done;
  while (!open_.empty() && (open_.begin()->second.said == ranks || open_.size() > kMostOpen)) {
    last_done_ = std::max(last_done_, open_.begin()->second.entry.step);
    done.push_back(std::move(open_.begin()->second.entry));
    open_.erase(open_.begin());
  }
  return done;
}

}  // namespace megascope::live
