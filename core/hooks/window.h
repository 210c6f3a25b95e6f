#pragma once

#include <cstdint>

namespace megascope::hooks {

/// Which steps are recorded: step s if s >= start and (s - start) mod interval < count. Holds for
/// each step by itself, whatever steps came before: numbers may repeat, go back, or leave gaps.
struct StepWindow {
  std::uint64_t start = 0;
  std::uint64_t interval = 1;  ///< > 0
  std::uint64_t count = 1;     ///< > 0

  /// Are there no windows: is all recorded, what comes before the first step and between steps too?
  constexpr bool has_all() const { return start == 0 && count >= interval; }
  /// step: 0 or more.
  constexpr bool has(std::int64_t step) const {
    const auto number = static_cast<std::uint64_t>(step);
    return number >= start && (number - start) % interval < count;
  }
};

}  // namespace megascope::hooks
