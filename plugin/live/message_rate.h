#pragma once

#include "plugin/live/bounds.h"

#include <algorithm>
#include <cstdint>

namespace megascope::live {

/// Limits a client's message rate: a token bucket filled at kMessagesPerSecond, with a capacity of
/// kMessageBurst. One thread.
class MessageRate {
 public:
  explicit MessageRate(std::int64_t now_ns = 0) : since_ns_(now_ns) {}
  /// Counts a message. False: the limit is exceeded.
  bool may_speak(std::int64_t now_ns) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(now_ns - since_ns_, 0)) *
                           1e-9;
    room_ = std::min(kMessageBurst, room_ + seconds * kMessagesPerSecond);
    since_ns_ = now_ns;
    if (room_ < 1.0) return false;
    room_ -= 1.0;
    return true;
  }

 private:
  double room_ = kMessageBurst;
  std::int64_t since_ns_ = 0;
};

}  // namespace megascope::live
