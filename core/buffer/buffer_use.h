#pragma once

#include <cstdint>

namespace megascope {

/// How much of its largest size a trace has used since recording began, and how fast it grows.
struct BufferUse {
  std::uint64_t used_bytes = 0;   ///< of the file, with the space of chunks that are in use or will
                                  ///< be soon
  std::uint64_t limit_bytes = 0;  ///< what the file may have
  bool is_limited_by_system = false;  ///< limit_bytes is what the disk or the memory lets it have
                                      ///< now, and not its bound
  std::uint64_t recorded_bytes = 0;   ///< what the records so far take when they are packed
  std::uint64_t elapsed_ns = 0;       ///< since the file was created

  double bytes_per_s() const noexcept {
    if (elapsed_ns == 0) return 0;
    return static_cast<double>(recorded_bytes) * 1e9 / static_cast<double>(elapsed_ns);
  }
  /// Returns after what time, in ns, the trace has its largest size, if it grows as fast as so far.
  /// 0 if it has it already, or if nothing was recorded.
  std::uint64_t rest_ns() const noexcept {
    if (recorded_bytes == 0 || used_bytes >= limit_bytes) return 0;
    return static_cast<std::uint64_t>(static_cast<double>(limit_bytes - used_bytes) /
                                      static_cast<double>(recorded_bytes) *
                                      static_cast<double>(elapsed_ns));
  }
};

}  // namespace megascope
