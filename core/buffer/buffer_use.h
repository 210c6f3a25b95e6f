#pragma once

#include <cstdint>

namespace megascope {

/// How much of its largest size a trace has used since recording began.
struct BufferUse {
  std::uint64_t used_bytes = 0;
  std::uint64_t bound_bytes = 0;  ///< largest size of the trace file
  std::uint64_t elapsed_ns = 0;   ///< since the file was created

  /// Returns after what time, in ns, the trace has its largest size, if it grows as fast as so far.
  /// 0 if it has it already.
  std::uint64_t rest_ns() const noexcept {
    if (used_bytes == 0 || used_bytes >= bound_bytes) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(bound_bytes - used_bytes) /
                                      static_cast<double>(used_bytes) *
                                      static_cast<double>(elapsed_ns));
  }
};

}  // namespace megascope
