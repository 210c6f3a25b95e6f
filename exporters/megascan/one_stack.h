#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace megascope::megascan {

/// A call as shown in MegaScan's single row.
struct Slice {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  /// Index that the caller chooses. Of two slices with equal times, the one with the lower index
  /// encloses the other.
  std::uint32_t index = 0;
  bool is_work = false;  ///< true: work; false: communication

  bool operator==(const Slice&) const = default;
};

/// Converts slices to the enter and leave events of one stack, in time order. If two slices overlap
/// partially, one of them is shortened. If the earlier slice is communication and the later one is
/// work, the earlier slice ends when the later one begins. Otherwise the later slice begins when
/// the earlier one ends. No slice is omitted. enter: called at the begin of each slice. leave:
/// called at the end of each slice, with its times after shortening.
void put_on_one_stack(std::vector<Slice> slices, const std::function<void(const Slice&)>& enter,
                      const std::function<void(const Slice&)>& leave);

}  // namespace megascope::megascan
