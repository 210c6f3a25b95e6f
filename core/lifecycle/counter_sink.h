#pragma once

#include "core/record/ids.h"

namespace megascope {

/// Receives the values of counters in addition to their recording. Never destroyed.
class CounterSink {
 public:
  virtual ~CounterSink() = default;
  /// Called on the application's threads, concurrently. Must not throw or take a lock that another
  /// thread may hold for long.
  virtual void set(CounterId counter, double value) noexcept = 0;
};

}  // namespace megascope
