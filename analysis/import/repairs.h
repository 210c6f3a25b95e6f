#pragma once

#include "core/base/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::importer {

/// Kind of a defect that the import repairs. docs/import.md states the rule of each. Append only:
/// the names are stored.
enum class RepairKind : std::uint8_t {
  kNegativeDuration,  ///< it ends before it begins: `dur` below 0, or `E` before its `B`
  kMissingDuration,   ///< `X` without "dur"
  kMissingEnd,        ///< begins, and does not end
  kMissingBegin,      ///< ends, and did not begin
  kDuplicate,         ///< occurs more than once in the file
  kStepOrder,         ///< its step is outside of the range of its neighbours' steps
  kOverlap,  ///< overlaps another operation of its track partially: shown in a separate row. No
             ///< time is changed, so that it does not count as damage
  kCount,
};
inline constexpr std::size_t kRepairKindCount = static_cast<std::size_t>(RepairKind::kCount);

/// "negative_duration" …: stable.
std::string_view name_of(RepairKind kind);

/// Counts of repairs of a timeline, by kind.
class Repairs {
 public:
  static constexpr double
      kMaxRepaired = 0.01;  ///< largest accepted share of all events. A single repair is always
                            ///< accepted, except with `--strict`

  /// Counts an event that describes an operation, or its begin or end.
  void add_event() { ++event_count_; }
  /// Counts a repair. where: the event, "event 7 (\"forward\")"; kept for the first of each kind.
  void add(RepairKind kind, const std::string& where);
  void add(RepairKind kind, std::uint64_t count, const std::string& where);

  std::uint64_t event_count() const { return event_count_; }
  std::uint64_t count(RepairKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  const std::string& first(RepairKind kind) const {
    return firsts_[static_cast<std::size_t>(kind)];
  }
  /// Number of repairs of all kinds except kOverlap.
  std::uint64_t total() const;
  /// Returns an error if there are too many repairs, or any with is_strict.
  Status check(bool is_strict) const;
  /// One sentence for each kind that occurred.
  std::vector<std::string> notes() const;

 private:
  std::array<std::uint64_t, kRepairKindCount> counts_{};
  std::array<std::string, kRepairKindCount> firsts_;
  std::uint64_t event_count_ = 0;
};

}  // namespace megascope::importer
