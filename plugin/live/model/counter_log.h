#pragma once

#include "plugin/live/model/history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::live {

/// Counter values in order of arrival, which need not be step order. When full, every second value
/// of each counter is removed from the older half, so that curves still start at the beginning.
/// Same reading interface as Log. One thread.
class CounterLog {
 public:
  explicit CounterLog(std::size_t max_bytes = kMaxSeriesBytes)
      : max_(std::max<std::size_t>(max_bytes / sizeof(Kept), 2)) {}

  void add(const CounterEntry& entry) {
    if (kept_.size() >= max_) thin();
    kept_.push_back({end_++, entry});
  }
  std::uint64_t end() const { return end_; }
  std::size_t size() const { return kept_.size(); }
  /// Index of the first kept entry with this number or a higher one.
  std::size_t index_of(std::uint64_t number) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(kept_, number, {}, &Kept::number) -
                                    kept_.begin());
  }
  std::uint64_t number_at(std::size_t index) const { return kept_[index].number; }
  const CounterEntry& entry(std::size_t index) const { return kept_[index].entry; }

 private:
  struct Kept {
    std::uint64_t number;
    CounterEntry entry;
  };

  void thin() {
    const auto middle = kept_.begin() + static_cast<std::ptrdiff_t>(kept_.size() / 2);
    std::vector<bool> is_second;  // by id: whether the next entry is removed
    const auto end = std::remove_if(kept_.begin(), middle, [&](const Kept& one) {
      if (is_second.size() <= one.entry.id) is_second.resize(one.entry.id + std::size_t{1});
      const bool goes = is_second[one.entry.id];
      is_second[one.entry.id] = !goes;
      return goes;
    });
    const auto before = kept_.size();
    kept_.erase(end, middle);
    if (kept_.size() == before)
      kept_.erase(kept_.begin(), middle);  // no counter has two values there
  }

  std::size_t max_;
  std::vector<Kept> kept_;
  std::uint64_t end_ = 0;
};

}  // namespace megascope::live
