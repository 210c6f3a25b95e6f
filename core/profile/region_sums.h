#pragma once

#include "core/record/ids.h"

#include <cstdint>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Sums over the instances of a region. The time of an instance is that from its entry to its
/// leave, including regions and calls inside of it. Unit as in CallTotals.
struct RegionTotals {
  RegionId region = kNoRegion;
  std::uint64_t count = 0;
  std::uint64_t time = 0;
  std::uint64_t max_time = 0;  ///< longest instance

  bool operator==(const RegionTotals&) const = default;
};

/// Sums of the annotated regions of one process. One thread at a time.
class RegionSums {
 public:
  void add(RegionId region, std::uint64_t time) {
    add({.region = region, .count = 1, .time = time, .max_time = time});
  }
  void add(const RegionTotals& totals) {
    RegionTotals& row = row_of(totals.region);
    row.count += totals.count;
    row.time += totals.time;
    if (totals.max_time > row.max_time) row.max_time = totals.max_time;
  }
  /// Adds the sums of another object of the same process.
  void merge(const RegionSums& other);
  /// Returns the rows in order of first use.
  const std::vector<RegionTotals>& rows() const { return rows_; }

  void serialize(WireWriter& to) const;
  /// Replaces the sums by those that it reads. from.is_ok() is false after an error.
  void parse(WireReader& from);

 private:
  RegionTotals& row_of(RegionId region) {
    const std::uint16_t index = region < index_.size() ? index_[region] : std::uint16_t{0};
    return index != 0 ? rows_[index - 1U] : new_row(region);
  }
  RegionTotals& new_row(RegionId region);

  std::vector<RegionTotals> rows_;
  std::vector<std::uint16_t> index_;  ///< by region: 1 + index of its row
};

}  // namespace megascope
