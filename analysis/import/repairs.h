#pragma once

#include "core/base/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::importer {

/// Kind of a defect that the import repairs. docs/import.md states the rule of each kind. New kinds
/// must be appended, because names are stored.
enum class RepairKind : std::uint8_t {
  kNegativeDuration,  ///< an operation ends before it begins: `dur` is below 0, or `E` is before
                      ///< its `B`
  kMissingDuration,   ///< an `X` event has no "dur"
  kMissingEnd,        ///< an operation begins and does not end
  kMissingBegin,      ///< an operation ends and did not begin
  kDuplicate,         ///< an operation occurs more than once in the file
  kStepOrder,         ///< the step of an operation is outside of the range of its neighbours' steps
  kOverlap,  ///< an operation overlaps another one of its track partially, and is shown in a
             ///< separate row. Its times do not change, so total() does not count it
  kCount,
};
inline constexpr std::size_t kRepairKindCount = static_cast<std::size_t>(RepairKind::kCount);

/// Returns the name of a kind, such as "negative_duration". Names never change.
std::string_view name_of(RepairKind kind);

/// Counts of repairs of a timeline, by kind.
class Repairs {
 public:
  static constexpr double
      kMaxRepaired = 0.01;  ///< largest accepted number of repairs as a fraction of all events. A
                            ///< single repair is always accepted, except with `--strict`

  /// Counts an event that describes an operation, or its begin or end.
  void add_event() { ++event_count_; }
  /// Count one repair, or `count` repairs. where: the event, for example "event 7 (\"forward\")".
  /// It is kept for the first repair of each kind.
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
  /// Returns one sentence for each kind that occurred.
  std::vector<std::string> notes() const;

 private:
  std::array<std::uint64_t, kRepairKindCount> counts_{};
  std::array<std::string, kRepairKindCount> firsts_;
  std::uint64_t event_count_ = 0;
};

}  // namespace megascope::importer
