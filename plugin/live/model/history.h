#pragma once

#include "plugin/live/protocol/bounds.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Data of a run that is kept for clients that connect late or cannot receive fast enough. One
/// thread.
namespace megascope::live {

/// Bounded log of the latest entries. Entries are numbered from 0, so that readers can remember
/// their position.
template <class Entry>
class Log {
 public:
  Log() = default;
  Log(std::size_t max_bytes, std::size_t max_steps)
      : max_bytes_(max_bytes), max_steps_(max_steps) {}

  void add(Entry entry) {
    if (entries_.empty() || entries_.back().step != entry.step) ++steps_;
    bytes_ += entry.bytes();
    entries_.push_back(std::move(entry));
    while (entries_.size() > 1 && (bytes_ > max_bytes_ || steps_ > max_steps_)) forget_first();
  }
  std::uint64_t first() const { return first_; }
  std::uint64_t end() const { return first_ + entries_.size(); }
  const Entry& at(std::uint64_t number) const { return entries_[number - first_]; }
  std::size_t size() const { return entries_.size(); }
  /// Index of the first kept entry with this number or a higher one.
  std::size_t index_of(std::uint64_t number) const {
    return static_cast<std::size_t>(std::max(number, first_) - first_);
  }
  std::uint64_t number_at(std::size_t index) const { return first_ + index; }
  const Entry& entry(std::size_t index) const { return entries_[index]; }
  bool is_empty() const { return entries_.empty(); }
  const Entry& back() const { return entries_.back(); }
  /// Number of the first kept entry with this step or a later one.
  std::uint64_t since(std::int64_t step) const {
    std::uint64_t number = first_;
    while (number < end() && at(number).step < step) ++number;
    return number;
  }

 private:
  void forget_first() {
    if (entries_.size() > 1 && entries_[0].step != entries_[1].step) --steps_;
    bytes_ -= entries_.front().bytes();
    entries_.pop_front();
    ++first_;
  }

  std::deque<Entry> entries_;
  std::size_t max_bytes_ = kMaxSeriesBytes;
  std::size_t max_steps_ = kMaxSteps;
  std::size_t bytes_ = 0;
  std::size_t steps_ = 0;  ///< number of step changes between adjacent entries, plus 1
  std::uint64_t first_ = 0;
};

inline constexpr std::array<std::string_view, 3> kTimeColumns{"step_ms", "mpi_ms", "own_ms"};
inline constexpr std::array<std::string_view, 7> kStatisticsColumns{
    "count", "nan", "infinite", "min", "max", "mean", "norm"};

/// Times of all ranks in one step.
struct StepEntry {
  std::int64_t step = 0;
  double begin_ms = 0.0;     ///< since the epoch; NaN: unknown
  std::vector<float> times;  ///< [kTimeColumns][ranks]; NaN: unknown
  std::size_t bytes() const { return sizeof *this + times.size() * sizeof(float); }
};
struct CounterEntry {
  std::int64_t step = 0;
  std::uint32_t id = 0;
  double value = 0.0;
  static constexpr std::size_t bytes() { return sizeof(CounterEntry); }
};
struct StatisticsEntry {
  std::int64_t step = 0;
  std::uint32_t id = 0;
  std::array<double, kStatisticsColumns.size()> values{};
  static constexpr std::size_t bytes() { return sizeof(StatisticsEntry); }
};

}  // namespace megascope::live
