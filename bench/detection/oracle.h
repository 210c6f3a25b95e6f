#pragma once

#include "analysis/detect/detect.h"

#include <cstdint>
#include <vector>

namespace megascope::bench {

/// What an oracle knows of a true root cause: everything except whether it is present.
struct OracleHint {
  bool is_link = false;
  std::vector<std::int32_t> ranks;  ///< of a link its two ends
  std::vector<bool> is_active;      ///< by step
  double height = 0.0;              ///< log factor while active, on average
  double step_noise = 0.0;     ///< standard deviation of the log of a rank's work in a step, pauses
                               ///< and heavy tails left out
  double message_noise = 0.0;  ///< of the log of a transfer
};

/// The chance that an oracle which knows root cause, steps, height, noise and all levels is as sure
/// as the detection has to be: the most powerful test there is (Neyman and Pearson) of Gaussian
/// noise. Of links it sees the messages that the detection sees, since of the others the trace does
/// not tell when they came.
double oracle_chance(const OracleHint& hint, const RecordSource& run);

}  // namespace megascope::bench
