#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::detect {

/// When a rank's steps are, by the call that ends each.
struct StepTimes {
  std::uint64_t begin_ns = 0;          ///< of the first
  std::vector<std::uint64_t> ends_ns;  ///< none where no steps are found
  std::vector<std::uint64_t> begins_ns =
      {};  ///< of steps that are told; empty: each begins where the one before ends
  std::uint64_t
      call_count = 0;  ///< that are not inside of others, of the judged location, to the last end

  bool is_annotated() const { return !begins_ns.empty(); }
  std::uint64_t begin_of(std::size_t step) const {
    if (is_annotated()) return begins_ns[step];
    return step == 0 ? begin_ns : ends_ns[step - 1];
  }
  /// Keeps the first steps.
  void cut(std::size_t count) {
    ends_ns.resize(count);
    if (is_annotated()) begins_ns.resize(count);
  }
};

}  // namespace megascope::detect
