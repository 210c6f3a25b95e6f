#pragma once

#include "analysis/detect/detect.h"
#include "analysis/synth/truth.h"

#include <cstdint>
#include <string>
#include <vector>

namespace megascope::bench {

/// Counts over runs. A true root cause is found when an answer names the same ranks (of a link the
/// same two ends).
struct Score {
  std::uint64_t runs = 0;
  std::uint64_t accused_runs = 0;  ///< in which something was named that is not there
  std::uint64_t truths = 0;
  std::uint64_t found = 0;
  std::uint64_t wrong = 0;         ///< named and not there
  std::uint64_t cause_right = 0;   ///< of those found
  std::uint64_t onset_right = 0;   ///< within one step
  std::uint64_t factor_right = 0;  ///< factor − 1 within a fifth

  void add(const Score& other);
};
Score score_run(const std::vector<synth::TrueRootCause>& truth,
                const std::vector<detect::RootCause>& answer);

/// Wilson's 95 % interval of a share.
struct Bounds {
  double share = 0.0;
  double low = 0.0;
  double high = 1.0;
};
Bounds bounds_of(std::uint64_t hits, std::uint64_t count);

std::string text_of(const synth::TrueRootCause& root_cause);
std::string text_of(const detect::RootCause& root_cause);

}  // namespace megascope::bench
