#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace megascope::detect {

/// When a rank's steps are, by the call that ends each.
struct StepTimes {
  std::uint64_t begin_ns = 0;          ///< of the first
  std::vector<std::uint64_t> ends_ns;  ///< none where no steps are found
  std::uint64_t call_count = 0;        ///< that are not inside of others, of the judged location, to the last end

  std::uint64_t begin_of(std::size_t step) const { return step == 0 ? begin_ns : ends_ns[step - 1]; }
};

}  // namespace megascope::detect
