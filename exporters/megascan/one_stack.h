#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace megascope::megascan {

/// A call as it is shown.
struct Slice {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t
      index = 0;  ///< whose it is; of slices with the same times the lower one encloses the other
  bool is_work = false;  ///< no communication

  bool operator==(const Slice&) const = default;
};

/// Hands out slices as the entries and exits of one stack, in the order of time. Of two that
/// overlap in part one is shown shorter: communication that work outlasts ends where the work
/// begins; otherwise the later one begins where the earlier ends. None is left out. leave: the
/// slice as it was shown.
void put_on_one_stack(std::vector<Slice> slices, const std::function<void(const Slice&)>& enter,
                      const std::function<void(const Slice&)>& leave);

}  // namespace megascope::megascan
