#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::detect {

/// Begin and end of a rank's steps, in ns of the source's clock.
struct StepTimes {
  std::uint64_t begin_ns = 0;          ///< begin of the first step
  std::vector<std::uint64_t> ends_ns;  ///< by step; empty: no steps were found
  std::vector<std::uint64_t> begins_ns =
      {};  ///< begins of the steps, if they are known by definition. Empty: a step begins where the
           ///< previous step ends
  std::uint64_t call_count = 0;  ///< outermost calls of the judged location in the steps

  bool is_annotated() const { return !begins_ns.empty(); }
  std::uint64_t begin_of(std::size_t step) const {
    if (is_annotated()) return begins_ns[step];
    return step == 0 ? begin_ns : ends_ns[step - 1];
  }
  /// Keeps the first `count` steps. count: at most the number of steps.
  void cut(std::size_t count) {
    ends_ns.resize(count);
    if (is_annotated()) begins_ns.resize(count);
  }
};

}  // namespace megascope::detect
