#pragma once

#include "core/base/status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::importer {

/// What is wrong with an event that is mended. docs/import.md states the rule of each. Append only:
/// the names are stored.
enum class RepairKind : std::uint8_t {
  kNegativeDuration,  ///< it ends before it begins: `dur` below 0, or `E` before its `B`
  kMissingDuration,   ///< `X` without "dur"
  kMissingEnd,        ///< begins, and does not end
  kMissingBegin,      ///< ends, and did not begin
  kDuplicate,         ///< is in the file more than once
  kStepOrder,         ///< its step lies outside of those around it
  kOverlap,  ///< overlaps another of its track, and is not work that one of them encloses: shown in
             ///< a row of its own; no time is changed, so that it is no damage
  kCount,
};
inline constexpr std::size_t kRepairKindCount = static_cast<std::size_t>(RepairKind::kCount);

/// "negative_duration" …: stable.
std::string_view name_of(RepairKind kind);

/// What was mended in a timeline, by kind.
class Repairs {
 public:
  static constexpr double kMaxRepaired = 0.01;  ///< of all events: more is refused; one repair
                                                ///< never is, but for `--strict`

  /// An event that stands for an operation, or for its begin or end.
  void add_event() { ++event_count_; }
  /// where: the first of its kind is named: "event 7 (\"forward\")".
  void add(RepairKind kind, const std::string& where);
  void add(RepairKind kind, std::uint64_t count, const std::string& where);

  std::uint64_t event_count() const { return event_count_; }
  std::uint64_t count(RepairKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  const std::string& first(RepairKind kind) const {
    return firsts_[static_cast<std::size_t>(kind)];
  }
  /// All but kOverlap.
  std::uint64_t total() const;
  /// An error: there are too many, or is_strict and there is one.
  Status check(bool is_strict) const;
  /// A sentence for each kind that there is.
  std::vector<std::string> notes() const;

 private:
  std::array<std::uint64_t, kRepairKindCount> counts_{};
  std::array<std::string, kRepairKindCount> firsts_;
  std::uint64_t event_count_ = 0;
};

}  // namespace megascope::importer
