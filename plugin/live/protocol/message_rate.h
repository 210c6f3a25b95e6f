#pragma once

#include "plugin/live/protocol/bounds.h"

#include <algorithm>
#include <cstdint>

namespace megascope::live {

/// Limits a client's message rate: a token bucket filled at kMessagesPerSecond, with a capacity of
/// kMessageBurst. One thread.
class MessageRate {
 public:
  explicit MessageRate(std::int64_t now_ns = 0) : since_ns_(now_ns) {}
  /// Counts a message. Returns false, without counting it, if it exceeds the limit.
  bool may_send(std::int64_t now_ns) {
    const double seconds = static_cast<double>(std::max<std::int64_t>(now_ns - since_ns_, 0)) *
                           1e-9;
    space_ = std::min(kMessageBurst, space_ + seconds * kMessagesPerSecond);
    since_ns_ = now_ns;
    if (space_ < 1.0) return false;
    space_ -= 1.0;
    return true;
  }

 private:
  double space_ = kMessageBurst;
  std::int64_t since_ns_ = 0;
};

}  // namespace megascope::live
