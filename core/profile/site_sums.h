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

/// Sums of the calls of one function from one call site. Times as in CallTotals.
struct SiteTotals {
  std::uint32_t site = 0;  ///< number of a CallSiteDefinition
  RegionId region = kNoRegion;
  std::uint64_t calls = 0;
  std::uint64_t time = 0;

  bool operator==(const SiteTotals&) const = default;
};

/// Sums of one process's calls by call site, if call sites are recorded. There are at most kMaxRows
/// rows; calls from further sites are not added. One thread at a time.
class SiteSums {
 public:
  static constexpr std::size_t kMaxRows = 8192;

  void add(const SiteTotals& calls) {
    const std::uint64_t key = key_of(calls);
    const Known& known = known_[slot_of(key)];
    if (known.key != key) [[unlikely]]
      return add_slow_path(calls);
    rows_[known.index].calls += calls.calls;
    rows_[known.index].time += calls.time;
  }
  /// Adds the sums of another object of the same process.
  void merge(const SiteSums& other);
  /// Returns the rows in order of first use; empty if no call had a call site.
  const std::vector<SiteTotals>& rows() const { return rows_; }

  void serialize(WireWriter& to) const;
  /// Replaces the sums by those that it reads. from.is_ok() is false after an error.
  void parse(WireReader& from);

 private:
  /// Cache entry of a row.
  struct Known {
    std::uint64_t key = UINT64_MAX;
    std::size_t index = 0;
  };
  static constexpr std::size_t kKnownCount = 64;

  static std::uint64_t key_of(const SiteTotals& row) {
    return std::uint64_t{row.site} << 16 | row.region;
  }
  static std::size_t slot_of(std::uint64_t key) { return (key * 0x9E3779B97F4A7C15U) >> 58; }
  void add_slow_path(const SiteTotals& calls);

  std::array<Known, kKnownCount> known_{};
  std::vector<SiteTotals> rows_;
  std::unordered_map<std::uint64_t, std::size_t> index_;  ///< by call site and region
};

}  // namespace megascope
