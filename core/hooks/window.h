#pragma once

#include <cstdint>

namespace megascope::hooks {

/// Selects recorded steps: step s is recorded if s >= start and (s - start) mod interval < count.
/// The rule applies to each step number on its own: numbers may repeat, decrease or have gaps.
struct StepWindow {
  std::uint64_t start = 0;
  std::uint64_t interval = 1;  ///< > 0
  std::uint64_t count = 1;     ///< > 0

  /// Returns whether everything is recorded, also before the first step and between steps.
  constexpr bool has_all() const { return start == 0 && count >= interval; }
  /// Returns whether `step` is recorded. step: 0 or more.
  constexpr bool has(std::int64_t step) const {
    const auto number = static_cast<std::uint64_t>(step);
    return number >= start && (number - start) % interval < count;
  }
};

}  // namespace megascope::hooks
