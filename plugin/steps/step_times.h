#pragma once

#include "plugin/steps/step_block.h"

#include <cstdint>
#include <utility>

namespace megascope::steps {

/// The steps of this rank and their times, as its next block reports them. Members named
/// …_realtime_ns are wall-clock times since the epoch. Only on the thread that begins steps.
struct StepTimes {
  std::int64_t step = -1;           ///< the step that has begun last; -1: none
  std::int64_t reported_step = -1;  ///< the step that the next block describes
  /// The step that begins at the boundary of the next block; kNoStep: none.
  std::int64_t next_step = kNoStep;
  bool is_spoiled = false;  ///< a step's number did not increase, or this rank has stopped
  std::uint64_t step_ns = 0;
  std::uint64_t own_ns = 0;            ///< measurement overhead since the last block
  std::uint64_t wait_ns = 0;           ///< of own_ns, time waiting for other ranks
  std::uint64_t calls_ns = 0;          ///< in MPI calls, since the last block or interval
  std::uint64_t begin_ns = 0;          ///< CLOCK_MONOTONIC when `step` began; 0: no step has begun
  std::int64_t begin_realtime_ns = 0;  ///< wall-clock time of begin_ns
  std::int64_t reported_realtime_ns = 0;  ///< begin of the step that the next block describes

  /// Begins a step. number: greater than `step`. now_ns: CLOCK_MONOTONIC. realtime_ns: wall-clock
  /// time, or 0 if there is no live view.
  void begin(std::int64_t number, std::uint64_t now_ns, std::int64_t realtime_ns) noexcept {
    step_ns = begin_ns == 0 ? 0 : now_ns - begin_ns;
    begin_ns = now_ns;
    reported_realtime_ns = std::exchange(begin_realtime_ns, realtime_ns);
    reported_step = step;
    next_step = step = number;
  }
  /// Call after a block was filled. Prepares the next block for the case that no step begins before
  /// it.
  void end_block() noexcept {
    reported_step = step;
    next_step = kNoStep;
    is_spoiled = false;
    step_ns = own_ns = wait_ns = calls_ns = 0;
  }
};

}  // namespace megascope::steps
