#pragma once

#include "core/record/ids.h"

#include <cstdint>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Times as in CallTotals. A region's time is that from its entry to its leave, whatever it
/// encloses.
struct RegionTotals {
  RegionId region = kNoRegion;
  std::uint64_t count = 0;
  std::uint64_t time = 0;
  std::uint64_t max_time = 0;  ///< of one

  bool operator==(const RegionTotals&) const = default;
};

/// What one process's regions (those of the program, not MPI's) add up to. One thread at a time.
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
  /// Of the same process.
  void merge(const RegionSums& other);
  /// In order of first sight.
  const std::vector<RegionTotals>& rows() const { return rows_; }

  void serialize(WireWriter& to) const;
  /// Replaces the sums. Faults are left in the reader.
  void parse(WireReader& from);

 private:
  RegionTotals& row_of(RegionId region) {
    const std::uint16_t index = region < index_.size() ? index_[region] : std::uint16_t{0};
    return index != 0 ? rows_[index - 1U] : new_row(region);
  }
  RegionTotals& new_row(RegionId region);

  std::vector<RegionTotals> rows_;
  std::vector<std::uint16_t> index_;  ///< by region: 1 + its row
};

}  // namespace megascope
