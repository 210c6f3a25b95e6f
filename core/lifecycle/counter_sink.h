#pragma once

#include "core/record/ids.h"

namespace megascope {

/// Hears of the counters that a program sets, beside what is recorded of them. Never destroyed.
class CounterSink {
 public:
  virtual ~CounterSink() = default;
  /// Any thread, several at a time, inside the program's call: no lock that a thread may hold for
  /// long, nothing thrown.
  virtual void set(CounterId counter, double value) noexcept = 0;
};

}  // namespace megascope
