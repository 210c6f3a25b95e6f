#pragma once

#include "plugin/live/bounds.h"

#include <algorithm>
#include <cstdint>

namespace megascope::live {

/// How many messages a client may send: a bucket that is filled at kMessagesPerSecond and holds
/// kMessageBurst. One thread.
class MessageRate {
 public:
  explicit MessageRate(std::int64_t now_ns = 0) : since_ns_(now_ns) {}
  /// One more. False: it is too many.
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
