#pragma once

#include "core/record/ids.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace megascope {

class WireReader;
class WireWriter;

/// Calls of one function from one place. Times as in CallTotals.
struct SiteTotals {
  std::uint32_t site = 0;  ///< number of a CallSiteDefinition
  RegionId region = kNoRegion;
  std::uint64_t calls = 0;
  std::uint64_t time = 0;

  bool operator==(const SiteTotals&) const = default;
};

/// What one process's calls add up to by the place they were made from, where places were recorded.
/// Of bounded size: calls of further places are in the sums of their function only. One thread at a
/// time.
class SiteSums {
 public:
  static constexpr std::size_t kMaxRows = 8192;

  void add(const SiteTotals& calls) {
    const std::uint64_t key = key_of(calls);
    const Known& known = known_[slot_of(key)];
    if (known.key != key) [[unlikely]]
      return add_slowly(calls);
    rows_[known.index].calls += calls.calls;
    rows_[known.index].time += calls.time;
  }
  /// Of the same process.
  void merge(const SiteSums& other);
  /// In order of first sight; empty when no call told its place.
  const std::vector<SiteTotals>& rows() const { return rows_; }

  void serialize(WireWriter& to) const;
  /// Replaces the sums. Faults are left in the reader.
  void parse(WireReader& from);

 private:
  /// Where a row is that was met before.
  struct Known {
    std::uint64_t key = UINT64_MAX;
    std::size_t index = 0;
  };
  static constexpr std::size_t kKnownCount = 64;

  static std::uint64_t key_of(const SiteTotals& row) {
    return std::uint64_t{row.site} << 16 | row.region;
  }
  static std::size_t slot_of(std::uint64_t key) { return (key * 0x9E3779B97F4A7C15U) >> 58; }
  void add_slowly(const SiteTotals& calls);

  std::array<Known, kKnownCount> known_{};
  std::vector<SiteTotals> rows_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  ///< by site and region
};

}  // namespace megascope
