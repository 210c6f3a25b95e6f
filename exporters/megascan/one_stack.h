#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace megascope::megascan {

/// A call as shown in MegaScan's single row.
struct Slice {
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  /// caller's index; of two slices with equal times the lower index encloses the other.
  std::uint32_t index = 0;
  bool is_work = false;  ///< not communication

  bool operator==(const Slice&) const = default;
};

/// Converts slices to the enter and leave events of one stack, in time order. Partially overlapping
/// slices are shortened: communication that extends beyond the begin of work ends there; otherwise
/// the later slice begins where the earlier one ends. No slice is omitted. leave: gets the slice as
/// shown.
void put_on_one_stack(std::vector<Slice> slices, const std::function<void(const Slice&)>& enter,
                      const std::function<void(const Slice&)>& leave);

}  // namespace megascope::megascan
